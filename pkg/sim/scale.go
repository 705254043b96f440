package sim

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
)

// scaleOf is a Deployment or ReplicaSet as its scale subresource shows it; nil
// for other kinds and for a selector that no server stores.
func scaleOf(obj Object) *autoscalingv1.Scale {
	out := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
	}}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		out.Spec.Replicas, out.Status.Replicas = *o.Spec.Replicas, o.Status.Replicas
	case *appsv1.ReplicaSet:
		out.Spec.Replicas, out.Status.Replicas = *o.Spec.Replicas, o.Status.Replicas
	}
	s, err := SelectorOf(obj)
	if err != nil {
		return nil
	}
	out.Status.Selector = s.String()
	return out
}

// SelectorOf is the selector of a Deployment's or ReplicaSet's pods.
func SelectorOf(obj Object) (labels.Selector, error) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return metav1.LabelSelectorAsSelector(o.Spec.Selector)
	case *appsv1.ReplicaSet:
		return metav1.LabelSelectorAsSelector(o.Spec.Selector)
	}
	return nil, fmt.Errorf("%s selects no pods", RefOf(obj))
}

// scale sets the size alone. It passes through the kind's main strategy, so
// that the generation moves (upstream registry/apps/*/storage ScaleREST).
func (r requester) scale(k *kind, in *autoscalingv1.Scale) (Object, error) {
	old, ok := r.server.store.get(k, in.Namespace, in.Name)
	if !ok {
		return nil, notFound(k, in.Name)
	}
	if err := validateScale(in); err != nil {
		return nil, r.failed(k, "update", "scale", old, err)
	}
	obj := k.clone(old)
	obj.SetResourceVersion(in.ResourceVersion)
	if in.UID != "" {
		obj.SetUID(in.UID)
	}
	replicas := in.Spec.Replicas
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = &replicas
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = &replicas
	default:
		return nil, notFound(k, in.Name)
	}
	return r.update(obj, "scale")
}

func validateScale(s *autoscalingv1.Scale) error {
	errs := apivalidation.ValidateNonnegativeField(int64(s.Spec.Replicas), field.NewPath("spec", "replicas"))
	if len(errs) == 0 {
		return nil
	}
	return validate.Invalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), s.Name, errs)
}

// Scale reads the scale subresource of a Deployment or ReplicaSet.
func (h *Hands) Scale(resource, namespace, name string) (*autoscalingv1.Scale, error) {
	k := kindByResource[resource]
	obj, ok := h.actor.world.store.Get(resource, namespace, name)
	if !ok {
		return nil, notFound(k, name)
	}
	if s := scaleOf(obj); s != nil {
		return s, nil
	}
	return nil, notFound(k, name)
}

// UpdateScale sets the size of a Deployment or ReplicaSet through its scale
// subresource; a resourceVersion left empty never conflicts.
func (h *Hands) UpdateScale(resource string, s *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	obj, err := h.actor.direct().scale(kindByResource[resource], s)
	if err != nil {
		return nil, err
	}
	return scaleOf(obj), nil
}
