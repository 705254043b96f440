package garbagecollector

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// standing is how an owner reference stands.
type standing int

const (
	ownerSolid    standing = iota
	ownerGone              // dangling
	ownerClearing          // waits for its dependents to be deleted
)

// owner looks an owner up at the API server. Kinds that the simulated server
// does not store are taken to be there.
func (p *Plugin) owner(ref metav1.OwnerReference, namespace string) (sim.Object, standing) {
	resource, known := sim.Resource(ref.Kind)
	if !known || p.absent[ref.UID] {
		return nil, ownerSolid
	}
	if resource == sim.Nodes {
		namespace = ""
	}
	obj, ok := p.h.Stored().Get(resource, namespace, ref.Name)
	switch {
	case !ok || obj.GetUID() != ref.UID:
		return nil, ownerGone
	case obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return obj, ownerClearing
	}
	return obj, ownerSolid
}

// collect decides about one object (garbagecollector.go attemptToDeleteItem).
func (p *Plugin) collect(n *node) error {
	if n.deleted && !n.clearing {
		return nil // on its way already
	}
	obj, ok := p.latest(n)
	if !ok {
		return nil // the watch will tell
	}
	if n.clearing {
		return p.clear(n, obj)
	}
	var solid int
	var dangling, clearing []metav1.OwnerReference
	for _, ref := range obj.GetOwnerReferences() {
		switch _, s := p.owner(ref, obj.GetNamespace()); s {
		case ownerGone:
			dangling = append(dangling, ref)
		case ownerClearing:
			clearing = append(clearing, ref)
		default:
			solid++
		}
	}
	gone := slices.Concat(dangling, clearing)
	switch {
	case len(gone) == 0:
		return nil
	case solid > 0:
		return p.cut(obj, gone)
	case len(clearing) > 0 && len(n.dependents.members) > 0:
		return p.clearFirst(n, obj, gone[0])
	}
	return p.remove(n, obj, gone[0], policyOf(obj))
}

// clearFirst deletes in the foreground an object that has dependents of its
// own. When one of those clears already, a circle might wait for itself for
// ever, so that the object stops holding up its owners.
func (p *Plugin) clearFirst(n *node, obj sim.Object, owner metav1.OwnerReference) error {
	for _, dep := range n.dependents.list() {
		if dep.clearing {
			free := obj.DeepCopyObject().(sim.Object)
			refs := free.GetOwnerReferences()
			for i := range refs {
				no := false
				refs[i].BlockOwnerDeletion = &no
			}
			free.SetOwnerReferences(refs)
			stored, err := p.h.Update(free)
			if err != nil {
				return err
			}
			obj = stored
			break
		}
	}
	return p.remove(n, obj, owner, metav1.DeletePropagationForeground)
}

// policyOf honours a finalizer that is there already.
func policyOf(obj sim.Object) metav1.DeletionPropagation {
	switch f := obj.GetFinalizers(); {
	case slices.Contains(f, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(f, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// remove asks for an object's deletion, as it was when its owners were checked.
func (p *Plugin) remove(n *node, obj sim.Object, owner metav1.OwnerReference, policy metav1.DeletionPropagation) error {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	opts := metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	}
	p.h.Emit(sim.RefOf(obj), trace.Deleted{Owner: refOfOwner(owner, obj.GetNamespace()), Reason: "Owner gone"})
	err := p.h.Delete(n.resource, obj.GetNamespace(), obj.GetName(), opts)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// clear lets an owner go once nothing that blocks it is left
// (garbagecollector.go processDeletingDependentsItem).
func (p *Plugin) clear(n *node, obj sim.Object) error {
	blocking := p.graph.blocking(n)
	if len(blocking) == 0 {
		return p.dropFinalizer(obj, metav1.FinalizerDeleteDependents)
	}
	for _, dep := range blocking {
		if !dep.clearing {
			p.add(job{dep.uid, false})
		}
	}
	return nil
}

// orphan sets the dependents of a deleted owner free, then lets it go
// (garbagecollector.go attemptToOrphanWorker).
func (p *Plugin) orphan(n *node) error {
	for _, dep := range n.dependents.list() {
		obj, ok := p.latest(dep)
		if !ok {
			continue
		}
		if err := p.cut(obj, refsTo(obj, n.uid)); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	obj, ok := p.latest(n)
	if !ok {
		return nil
	}
	return p.dropFinalizer(obj, metav1.FinalizerOrphanDependents)
}

func refsTo(obj sim.Object, owner types.UID) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(ref metav1.OwnerReference) bool { return ref.UID != owner })
}

// cut takes owner references off an object.
func (p *Plugin) cut(obj sim.Object, refs []metav1.OwnerReference) error {
	if len(refs) == 0 {
		return nil
	}
	free := obj.DeepCopyObject().(sim.Object)
	free.SetOwnerReferences(missing(obj.GetOwnerReferences(), refs))
	if _, err := p.h.Update(free); err != nil {
		return err
	}
	for _, ref := range refs {
		p.h.Emit(sim.RefOf(obj), trace.Released{Owner: refOfOwner(ref, obj.GetNamespace())})
	}
	return nil
}

// dropFinalizer lets the API server finish a deletion.
func (p *Plugin) dropFinalizer(obj sim.Object, name string) error {
	if !slices.Contains(obj.GetFinalizers(), name) {
		return nil
	}
	free := obj.DeepCopyObject().(sim.Object)
	free.SetFinalizers(slices.DeleteFunc(free.GetFinalizers(), func(f string) bool { return f == name }))
	_, err := p.h.Update(free)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
