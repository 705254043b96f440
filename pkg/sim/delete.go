package sim

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// remove asks for an object's deletion (upstream
// registry/rest/delete.go and registry/generic/registry/store.go).
func (r requester) remove(resource, namespace, name string, opts metav1.DeleteOptions) (Object, error) {
	s, k := r.server, resourceKind(resource)
	if k == nil {
		return nil, fmt.Errorf("the simulated server has no resource %q", resource)
	}
	if err := validateDelete(&opts); err != nil {
		return nil, err
	}
	if g := opts.GracePeriodSeconds; g != nil && *g < 0 {
		one := int64(1)
		opts.GracePeriodSeconds = &one
	}
	old, ok := s.store.get(k, namespace, name)
	if !ok {
		stub := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		return nil, r.failed(k, "delete", "", stub, notFound(k, name))
	}
	if err := s.admitDelete(r, k, old, opts); err != nil {
		return nil, r.failed(k, "delete", "", old, err)
	}
	return s.beginDelete(r, k, old, opts), nil
}

// validateDelete looks at options that say more than how long a pod has and
// which object is meant, as those of controllers and kubelets never do.
func validateDelete(opts *metav1.DeleteOptions) error {
	//nolint:staticcheck // a deprecated option is looked at all the same
	if opts.PropagationPolicy == nil && opts.OrphanDependents == nil && opts.DryRun == nil && opts.IgnoreStoreReadErrorWithClusterBreakingPotential == nil {
		return nil
	}
	if errs := metavalidation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return nil
}

func (s *server) admitDelete(r requester, k *kind, old Object, opts metav1.DeleteOptions) error {
	if err := preconditions(k, old, opts.Preconditions); err != nil {
		return err
	}
	req := &Request{Verb: "delete", Resource: k.resource, Actor: r.actor.name, Old: old, Now: s.world.loop.Now(), World: s.store}
	for _, a := range s.admitters {
		if err := a.Validate(req); err != nil {
			return err
		}
	}
	return nil
}

// preconditions refuses a deletion that was meant for another object or version.
func preconditions(k *kind, old Object, p *metav1.Preconditions) error {
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != old.GetUID():
		return apierrors.NewConflict(kindAsResource(k), old.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, old.GetUID()))
	case p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion():
		return apierrors.NewConflict(kindAsResource(k), old.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, old.GetResourceVersion()))
	}
	return nil
}

// kindAsResource names a kind where a resource belongs: a failed precondition
// reads so from a real server.
func kindAsResource(k *kind) schema.GroupResource {
	return schema.GroupResource{Group: k.gvk.Group, Resource: k.gvk.Kind}
}

// beginDelete marks an object as being deleted, or removes it when nothing holds it.
func (s *server) beginDelete(r requester, k *kind, old Object, opts metav1.DeleteOptions) Object {
	obj := k.clone(old)
	graceful, pending, period := s.grace(obj, opts)
	if pending {
		r.actor.Emit(RefOf(old), trace.Wrote{Verb: "delete", ResourceVersion: old.GetResourceVersion(), Code: http.StatusOK})
		return old
	}
	if finalizers, changed := collectorFinalizers(obj.GetFinalizers(), opts.PropagationPolicy); changed {
		obj.SetFinalizers(finalizers)
	}
	held := len(obj.GetFinalizers()) > 0
	if !graceful && !held {
		r.actor.Emit(RefOf(old), trace.Wrote{Verb: "delete", Code: http.StatusOK})
		s.erase(r, k, old)
		return old
	}
	if !graceful {
		s.markDeleting(obj)
	}
	w := write{kind: k, verb: "delete", code: http.StatusOK, obj: obj, old: old}
	if unchanged(obj, old) {
		r.actor.Emit(RefOf(old), trace.Wrote{Verb: w.verb, ResourceVersion: old.GetResourceVersion(), Code: w.code})
		return old
	}
	s.commit(r, w)
	if graceful && !held && period == 0 {
		s.erase(r, k, obj)
	}
	return obj
}

// grace sets a pod's deletion time and period on obj. Other kinds know no
// grace. Pending means that an equal or longer deletion is under way already.
func (s *server) grace(obj Object, opts metav1.DeleteOptions) (graceful, pending bool, period int64) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false, false, 0
	}
	if pod.DeletionTimestamp != nil {
		return s.shorten(pod, opts.GracePeriodSeconds)
	}
	switch {
	case opts.GracePeriodSeconds != nil:
		period = *opts.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	at := metav1.NewTime(s.world.now().Add(time.Duration(period) * time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &period
	if pod.Generation > 0 {
		pod.Generation++
	}
	return true, false, period
}

// shorten handles a second delete of a terminating pod: only a shorter grace counts.
func (s *server) shorten(pod *corev1.Pod, asked *int64) (graceful, pending bool, period int64) {
	have := pod.DeletionGracePeriodSeconds
	if have == nil || *have == 0 {
		return false, false, 0
	}
	if asked == nil || *asked >= *have {
		return false, true, 0
	}
	period = *asked
	at := pod.DeletionTimestamp.Add(time.Duration(period-*have) * time.Second)
	if now := s.world.now(); at.Before(now.Time) {
		at = now.Time
		if period != 0 {
			period = 1
		}
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: at}, &period
	return true, false, period
}

// markDeleting is how a kind without grace waits for its finalizers.
func (s *server) markDeleting(obj Object) {
	if obj.GetDeletionTimestamp() == nil {
		if obj.GetGeneration() > 0 {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
	}
	if at := obj.GetDeletionTimestamp(); at == nil || at.After(s.world.loop.Now()) {
		now := s.world.now()
		obj.SetDeletionTimestamp(&now)
	}
	zero := int64(0)
	obj.SetDeletionGracePeriodSeconds(&zero)
}

// collectorFinalizers are the finalizers that a propagation policy leaves for
// the garbage collector to take off. Without a policy those present stay.
func collectorFinalizers(have []string, policy *metav1.DeletionPropagation) ([]string, bool) {
	if policy == nil {
		return have, false
	}
	want := slices.DeleteFunc(slices.Clone(have), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch *policy {
	case metav1.DeletePropagationOrphan:
		want = append(want, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		want = append(want, metav1.FinalizerDeleteDependents)
	}
	return want, !slices.Equal(want, have)
}
