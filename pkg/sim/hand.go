package sim

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// hand is the API as a person uses it: what they change is traced as theirs.
type hand struct{ requester }

var _ engine.Hand = hand{}

func (h hand) Get(_ context.Context, ref trace.Ref) (runtime.Object, error) {
	k, ok := kindByName[ref.Kind]
	if !ok {
		return nil, fmt.Errorf("the simulated server has no kind %q", ref.Kind)
	}
	obj, ok := h.server.store.get(k, ref.Namespace, ref.Name)
	if !ok {
		return nil, notFound(k, ref.Name)
	}
	return obj.DeepCopyObject(), nil
}

func (h hand) Apply(_ context.Context, in runtime.Object) (runtime.Object, error) {
	obj, ok := in.DeepCopyObject().(Object)
	k := kindOf(in)
	if !ok || k == nil {
		return nil, fmt.Errorf("the simulated server stores no %T", in)
	}
	if k.namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	old, exists := h.server.store.get(k, obj.GetNamespace(), obj.GetName())
	if !exists {
		return h.changed(obj, trace.Changed{Verb: "create"}, func() (Object, error) { return h.create(obj) })
	}
	h.server.templates.fill(obj)
	obj = intended(k, obj, old)
	change := trace.Changed{Verb: "update", Fields: trace.Diff(old, obj)}
	return h.changed(obj, change, func() (Object, error) { return h.update(obj, "") })
}

// intended is the stored object with what a person may set taken from theirs.
func intended(k *kind, theirs, old Object) Object {
	obj := k.clone(theirs)
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Status = old.(*appsv1.Deployment).Status
	case *appsv1.ReplicaSet:
		o.Status = old.(*appsv1.ReplicaSet).Status
	}
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetFinalizers(old.GetFinalizers())
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	obj.SetResourceVersion("")
	obj.SetUID(old.GetUID())
	obj.SetGeneration(old.GetGeneration())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	return obj
}

func (h hand) Delete(_ context.Context, ref trace.Ref, policy string) error {
	resource, ok := Resource(ref.Kind)
	if !ok {
		return fmt.Errorf("the simulated server has no kind %q", ref.Kind)
	}
	var opts metav1.DeleteOptions
	if policy != "" {
		p := metav1.DeletionPropagation(policy)
		opts.PropagationPolicy = &p
	}
	h.actor.Emit(ref, trace.Changed{Verb: "delete"})
	_, err := h.remove(resource, ref.Namespace, ref.Name, opts)
	return err
}

// changed traces a person's change and runs the request as its consequence.
func (h hand) changed(obj Object, change trace.Changed, request func() (Object, error)) (runtime.Object, error) {
	w := h.actor.world
	seq := h.actor.Emit(RefOf(obj), change)
	var out Object
	var err error
	w.under(seq, func() { out, err = request() })
	if err != nil {
		return nil, err
	}
	return out.DeepCopyObject(), nil
}
