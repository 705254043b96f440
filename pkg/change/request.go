package change

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// Request is what kubectl sends to an API server for a change.
type Request struct {
	Type         types.PatchType
	Data         []byte
	Subresource  string // scale, or empty
	FieldManager string
}

// Request is the request for a set of changes that turns one object into
// another, which Apply has made of it. One change alone is what its kubectl
// verb sends; several are one patch.
// Upstream: kubectl pkg/cmd/set, pkg/scale, pkg/cmd/patch, polymorphichelpers rollback.go.
func (s *Set) Request(before, after manifest.Object) (Request, error) {
	switch {
	case s.only(s.Patch != nil):
		data, err := yaml.YAMLToJSON(s.Patch)
		if err != nil {
			return Request{}, fmt.Errorf("unable to parse the patch: %w", err)
		}
		return Request{Type: patchTypes[s.PatchType], Data: data, FieldManager: "kubectl-patch"}, nil
	case s.only(s.Replicas != nil):
		return Request{Type: types.MergePatchType, Data: fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, *s.Replicas), Subresource: "scale"}, nil
	case s.only(s.Undo != nil):
		return undoRequest(after)
	case s.only(len(s.Images) > 0):
		return twoWay(before, after, "kubectl-set")
	}
	return twoWay(before, after, "kubectl-rollout")
}

var patchTypes = map[PatchType]types.PatchType{
	Merge: types.MergePatchType, JSON: types.JSONPatchType, Strategic: types.StrategicMergePatchType, "": types.StrategicMergePatchType,
}

// only reports whether a change that is wanted is the only one.
func (s *Set) only(wanted bool) bool { return wanted && s.Count() == 1 }

// Count is how many different changes are asked for.
func (s *Set) Count() (n int) {
	for _, each := range []bool{s.Resume, s.Undo != nil, s.Patch != nil, len(s.Images) > 0, s.Replicas != nil, s.Restart, s.Pause} {
		if each {
			n++
		}
	}
	return n
}

// undoRequest replaces template and annotations whole.
func undoRequest(after manifest.Object) (Request, error) {
	d, ok := after.(*appsv1.Deployment)
	if !ok {
		return Request{}, fmt.Errorf("%s cannot be rolled back", manifest.Name(after))
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	data, err := json.Marshal([]operation{{"replace", "/spec/template", d.Spec.Template}, {"replace", "/metadata/annotations", d.Annotations}})
	if err != nil {
		return Request{}, fmt.Errorf("encoding %s: %w", manifest.Name(after), err)
	}
	return Request{Type: types.JSONPatchType, Data: data, FieldManager: "kubectl-rollout"}, nil
}

func twoWay(before, after manifest.Object, manager string) (Request, error) {
	was, err := json.Marshal(before)
	if err != nil {
		return Request{}, fmt.Errorf("encoding %s: %w", manifest.Name(before), err)
	}
	is, err := json.Marshal(after)
	if err != nil {
		return Request{}, fmt.Errorf("encoding %s: %w", manifest.Name(after), err)
	}
	data, err := strategicpatch.CreateTwoWayMergePatch(was, is, before)
	if err != nil {
		return Request{}, fmt.Errorf("making a patch for %s: %w", manifest.Name(before), err)
	}
	return Request{Type: types.StrategicMergePatchType, Data: data, FieldManager: manager}, nil
}
