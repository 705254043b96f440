package replicaset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// Observe is told of every change of the ReplicaSets and pods in the cache; it
// enqueues the ReplicaSets concerned and settles what they expect.
func (c *Controller) Observe(env *engine.Env, change engine.Change) {
	switch obj := change.New.(type) {
	case *appsv1.ReplicaSet:
		old, _ := change.Old.(*appsv1.ReplicaSet)
		c.observeReplicaSet(env, change.Verb, old, obj)
	case *corev1.Pod:
		old, _ := change.Old.(*corev1.Pod)
		c.observePod(env, change.Verb, old, obj)
	}
}

// observeReplicaSet enqueues it on every change, a resync included. One that
// was deleted and made anew between two deliveries starts clean.
// (replicaset addRS, updateRS, deleteRS)
func (c *Controller) observeReplicaSet(env *engine.Env, verb engine.Verb, old, rs *appsv1.ReplicaSet) {
	switch {
	case verb == engine.Deleted:
		c.replicaSetGone(env, rs)
		return
	case verb == engine.Modified && old != nil && old.UID != rs.UID:
		c.replicaSetGone(env, old)
	}
	env.Queue.Add(keyOf(rs))
}

func (c *Controller) replicaSetGone(env *engine.Env, rs *appsv1.ReplicaSet) {
	c.writes.forget(keyOf(rs), rs.UID)
	c.expectations.forget(keyOf(rs))
	env.Queue.Add(keyOf(rs))
}

func (c *Controller) observePod(env *engine.Env, verb engine.Verb, old, pod *corev1.Pod) {
	switch {
	case verb == engine.Deleted:
		c.podGone(env, pod)
	case verb == engine.Modified && old != nil:
		c.podUpdated(env, old, pod)
	default:
		c.podAdded(env, pod)
	}
}

// podAdded counts as a creation seen, unless the pod is first seen while it is
// already going. Every ReplicaSet that matches an orphan may want it.
// (replicaset addPod)
func (c *Controller) podAdded(env *engine.Env, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		c.podGone(env, pod)
		return
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		c.enqueueMatching(env, pod)
		return
	}
	if rs := resolve(env.Cache, pod.Namespace, owner); rs != nil {
		c.expectations.creationsSeen(keyOf(rs), 1)
		env.Queue.Add(keyOf(rs))
	}
}

// podUpdated wakes the owner a pod had and the one it has. A pod asked to go
// counts as deleted from then on. (replicaset updatePod)
func (c *Controller) podUpdated(env *engine.Env, old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync
	}
	relabelled := !rollout.SameLabels(old.Labels, pod.Labels)
	if pod.DeletionTimestamp != nil {
		c.podGone(env, pod)
		if relabelled {
			c.podGone(env, old)
		}
		return
	}
	was, owner := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod)
	changed := !sameOwner(was, owner)
	if changed && was != nil {
		if rs := resolve(env.Cache, old.Namespace, was); rs != nil {
			env.Queue.Add(keyOf(rs))
		}
	}
	switch {
	case owner != nil:
		c.ownedPodUpdated(env, old, pod, owner)
	case relabelled || changed:
		c.enqueueMatching(env, pod)
	}
}

// ownedPodUpdated also sets the timer for a pod that just turned ready to
// become available; older releases add a second.
func (c *Controller) ownedPodUpdated(env *engine.Env, old, pod *corev1.Pod, owner *metav1.OwnerReference) {
	rs := resolve(env.Cache, pod.Namespace, owner)
	if rs == nil {
		return
	}
	env.Queue.Add(keyOf(rs))
	if rs.Spec.MinReadySeconds <= 0 || rollout.IsPodReady(old) || !rollout.IsPodReady(pod) {
		return
	}
	after := time.Duration(rs.Spec.MinReadySeconds) * time.Second
	if !c.version.AvailableAtBoundary() {
		after += time.Second
	}
	requeueAfter(env, rs, after)
}

// podGone: nobody waits for the deletion of an orphan. (replicaset deletePod)
func (c *Controller) podGone(env *engine.Env, pod *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	if rs := resolve(env.Cache, pod.Namespace, owner); rs != nil {
		c.expectations.deletionSeen(keyOf(rs), keyOf(pod))
		env.Queue.Add(keyOf(rs))
	}
}

// resolve finds the ReplicaSet a controller reference means, by name and then
// by UID; nil when it is another kind, not in the cache, or another of that name.
func resolve(cache engine.Cache, namespace string, owner *metav1.OwnerReference) *appsv1.ReplicaSet {
	if owner.Kind != kind.Kind {
		return nil
	}
	rs, err := cache.ReplicaSet(namespace, owner.Name)
	if err != nil || rs.UID != owner.UID {
		return nil
	}
	return rs
}

// sameOwner compares two controller references in all their fields.
func sameOwner(a, b *metav1.OwnerReference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion &&
		ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

// enqueueMatching wakes every ReplicaSet whose selector matches an orphan; an
// empty selector matches none. (listers GetPodReplicaSets)
func (c *Controller) enqueueMatching(env *engine.Env, pod *corev1.Pod) {
	for _, rs := range c.matching(env.Cache, pod) {
		env.Queue.Add(keyOf(rs))
	}
}

func (c *Controller) matching(cache engine.Cache, pod *corev1.Pod) []*appsv1.ReplicaSet {
	if len(pod.Labels) == 0 {
		return nil
	}
	var matching []*appsv1.ReplicaSet
	for _, rs := range cache.ReplicaSets(pod.Namespace) {
		selector, err := c.parseSelector(rs.Spec.Selector)
		if err != nil {
			if !c.version.SkipsInvalidSelectors() {
				return nil
			}
			continue
		}
		if !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			matching = append(matching, rs)
		}
	}
	return matching
}
