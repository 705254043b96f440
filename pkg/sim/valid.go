package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
)

// validateCreate refuses a new object that breaks a rule of the API server.
func (s *server) validateCreate(k *kind, obj Object) error {
	v := s.world.cfg.Version
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return invalid(k, obj, validate.Deployment(o, v))
	case *appsv1.ReplicaSet:
		return invalid(k, obj, validate.ReplicaSet(o, v))
	case *corev1.Pod:
		return s.validatePod(k, o)
	}
	return nil
}

// validatePod checks the first pod of a template; the others differ in nothing that is checked.
func (s *server) validatePod(k *kind, pod *corev1.Pod) error {
	key := firstContainer(pod)
	if _, ok := s.templates.valid[key]; ok && key != nil {
		return nil
	}
	if err := invalid(k, pod, validate.Pod(pod, s.world.cfg.Version)); err != nil {
		return err
	}
	if _, shared := s.templates.specs[key]; shared || key != nil {
		s.templates.valid[key] = pod.Status.QOSClass
	}
	return nil
}

func (s *server) validateUpdate(k *kind, obj, old Object, subresource string) error {
	v := s.world.cfg.Version
	switch o := obj.(type) {
	case *appsv1.Deployment:
		was := old.(*appsv1.Deployment)
		if subresource == "status" {
			return invalid(k, obj, s.sound.DeploymentStatusUpdate(o, was))
		}
		return invalid(k, obj, s.sound.DeploymentUpdate(o, was, v))
	case *appsv1.ReplicaSet:
		was := old.(*appsv1.ReplicaSet)
		if subresource == "status" {
			return invalid(k, obj, s.sound.ReplicaSetStatusUpdate(o, was))
		}
		return invalid(k, obj, s.sound.ReplicaSetUpdate(o, was, v))
	case *corev1.Pod:
		if subresource == "status" {
			return invalid(k, obj, validate.PodStatusUpdate(o, old.(*corev1.Pod)))
		}
		return invalid(k, obj, validate.PodUpdate(o, old.(*corev1.Pod)))
	}
	return nil
}

func invalid(k *kind, obj Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return validate.Invalid(k.gvk.GroupKind(), obj.GetName(), errs)
}
