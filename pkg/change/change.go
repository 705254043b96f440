// Package change computes what kubectl's verbs do to a Deployment or
// ReplicaSet: object in, object out. Errors have kubectl's words.
package change

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// Set is what the change flags of one command ask for.
type Set struct {
	Images    []Image
	Replicas  *int32
	Restart   bool
	Undo      *int64 // revision to go back to; 0 is the one before the latest
	Patch     []byte // JSON or YAML
	PatchType PatchType
	Pause     bool
	Resume    bool
}

// Image is a new image for the containers of a name, init containers included;
// "*" names all.
type Image struct{ Container, Image string }

// Input is what a change is made to.
type Input struct {
	Object manifest.Object      // not changed
	Owned  []*appsv1.ReplicaSet // the ReplicaSets of the Deployment
	Now    time.Time            // goes into the restart annotation
}

// Result is the changed object.
type Result struct {
	Object   manifest.Object
	Warnings []string // what kubectl would say without failing
}

// Empty reports that no change is asked for.
func (s *Set) Empty() bool {
	return len(s.Images) == 0 && s.Replicas == nil && !s.Restart && s.Undo == nil && s.Patch == nil && !s.Pause && !s.Resume
}

// Validate refuses changes that exclude each other.
func (s *Set) Validate() error {
	switch {
	case s.Pause && s.Resume:
		return errors.New("--pause and --resume exclude each other")
	case s.Undo != nil && s.Restart:
		return errors.New("--undo and --restart exclude each other")
	case s.Replicas != nil && *s.Replicas < 0:
		return errors.New("--replicas=COUNT: COUNT must be greater than or equal to 0")
	}
	if len(s.Images) > 1 {
		for _, image := range s.Images {
			if image.Container == "*" {
				return errors.New("all containers are already specified by *, but saw more than one container_name=container_image pairs")
			}
		}
	}
	return nil
}

// ParseImage reads CONTAINER=IMAGE.
func ParseImage(s string) (Image, error) {
	container, image, found := strings.Cut(s, "=")
	if !found || container == "" || image == "" {
		return Image{}, fmt.Errorf("--image %s: expected CONTAINER=IMAGE", s)
	}
	return Image{container, image}, nil
}

// Apply makes all changes as one. A resume comes first and a pause last, so
// that neither gets in the way of the others.
func (s *Set) Apply(in Input) (Result, error) {
	out := Result{Object: in.Object.DeepCopyObject().(manifest.Object)}
	steps := []struct {
		wanted bool
		do     func(*Result, Input) error
	}{
		{s.Resume, resume},
		{s.Undo != nil, s.undo},
		{s.Patch != nil, s.patch},
		{len(s.Images) > 0, s.images},
		{s.Replicas != nil, s.replicas},
		{s.Restart, restart},
		{s.Pause, pause},
	}
	for _, step := range steps {
		if !step.wanted {
			continue
		}
		if err := step.do(&out, in); err != nil {
			return Result{}, err
		}
	}
	return out, nil
}

// images is kubectl set image.
func (s *Set) images(out *Result, _ Input) error {
	spec := podSpec(out.Object)
	if spec == nil {
		return fmt.Errorf("%s has no containers", manifest.Name(out.Object))
	}
	var missing []string
	for _, image := range s.Images {
		// Not ||: both lists are to be changed.
		if first, second := setImage(spec.InitContainers, image), setImage(spec.Containers, image); !first && !second {
			missing = append(missing, fmt.Sprintf("%q", image.Container))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("unable to find container named %s", strings.Join(missing, ", "))
	}
	return nil
}

func setImage(containers []corev1.Container, image Image) (found bool) {
	for i := range containers {
		if image.Container == "*" || containers[i].Name == image.Container {
			containers[i].Image = image.Image
			found = true
		}
	}
	return found
}

// replicas is kubectl scale.
func (s *Set) replicas(out *Result, _ Input) error {
	n := *s.Replicas
	switch obj := out.Object.(type) {
	case *appsv1.Deployment:
		obj.Spec.Replicas = &n
	case *appsv1.ReplicaSet:
		obj.Spec.Replicas = &n
	default:
		return fmt.Errorf("%s cannot be scaled", manifest.Name(out.Object))
	}
	return nil
}

// podSpec is what an object says of its pods, or nil.
func podSpec(obj manifest.Object) *corev1.PodSpec {
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		return &obj.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &obj.Spec.Template.Spec
	case *corev1.Pod:
		return &obj.Spec
	}
	return nil
}

// fresh is an empty object of the same kind.
func fresh(obj manifest.Object) manifest.Object {
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(manifest.Object)
}
