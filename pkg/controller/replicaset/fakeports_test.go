package replicaset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// fakeCache shows what was delivered, in the order of the first deliveries.
type fakeCache struct{ *world }

func (c fakeCache) Deployment(_, name string) (*appsv1.Deployment, error) {
	return nil, notFound("deployments", name)
}
func (c fakeCache) Deployments(string) []*appsv1.Deployment { return nil }

func (c fakeCache) ReplicaSet(_, name string) (*appsv1.ReplicaSet, error) {
	if rs, ok := find(c.cachedSets, name); ok {
		return rs, nil
	}
	return nil, notFound("replicasets", name)
}
func (c fakeCache) ReplicaSets(string) []*appsv1.ReplicaSet { return slices.Clone(c.cachedSets) }

func (c fakeCache) ReplicaSetsOf(owner types.UID) []*appsv1.ReplicaSet {
	return keep(c.cachedSets, func(rs *appsv1.ReplicaSet) bool { return controllerUID(rs) == owner })
}

func (c fakeCache) PodsOf(_, _ string, uid types.UID) []*corev1.Pod {
	return keep(c.cachedPods, func(pod *corev1.Pod) bool { return controllerUID(pod) == uid })
}

func (c fakeCache) OrphanPods(string) []*corev1.Pod {
	return keep(c.cachedPods, func(pod *corev1.Pod) bool { return controllerUID(pod) == "" })
}
func (c fakeCache) PodsIn(string) []*corev1.Pod       { return slices.Clone(c.cachedPods) }
func (c fakeCache) LastSynced(resource string) string { return c.synced[resource] }

func controllerUID(o metav1.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		return owner.UID
	}
	return ""
}

func keep[T any](list []T, yes func(T) bool) (kept []T) {
	for _, o := range list {
		if yes(o) {
			kept = append(kept, o)
		}
	}
	return kept
}

// fakeQueue prints what is put into it; a key that is in it already is not put again.
type fakeQueue struct{ *world }

func (q fakeQueue) Add(key engine.Key) {
	if !q.queued[key] {
		q.queued[key] = true
		q.printf("enqueue %s", key.Name)
	}
}
func (q fakeQueue) AddAfter(key engine.Key, delay time.Duration) {
	q.printf("enqueue %s after %s", key.Name, delay)
}
func (q fakeQueue) AddRateLimited(key engine.Key) {
	q.requeues[key]++
	q.printf("retry %s, failure %d", key.Name, q.requeues[key])
}
func (q fakeQueue) NumRequeues(key engine.Key) int { return q.requeues[key] }
func (q fakeQueue) Forget(key engine.Key)          { delete(q.requeues, key) }

type fakeRecorder struct{ *world }

func (r fakeRecorder) Event(_ runtime.Object, eventType, reason, message string) {
	r.printf("event %s %s %q", eventType, reason, message)
}

type fakeTracer struct{ *world }

func (t fakeTracer) Emit(object trace.Ref, detail trace.Detail) trace.Seq {
	t.printf("trace %s %s", object.Name, describe(detail))
	return 0
}

func describe(detail trace.Detail) string {
	switch d := detail.(type) {
	case trace.Budgeted:
		return fmt.Sprintf("%s: %s = %d", d.Rule, describeTerms(d.Terms), d.Result)
	case trace.Held:
		return fmt.Sprintf("held by %s: %s = %d", d.Why, describeTerms(d.Terms), d.Result)
	case trace.Deleted:
		text := "deleted for " + d.Owner.Name + ": " + d.Reason
		if r := d.Rank; r != nil {
			text += fmt.Sprintf(" %s %s, %s of %s, %d on its node", r.Rule, r.Mine, r.Other, r.Stays, r.OnNode)
		}
		return text
	case trace.Requeued:
		return fmt.Sprintf("requeued after %s: %s", d.After, d.Why)
	case trace.Adopted:
		return "adopted by " + d.Owner.Name
	case trace.Released:
		return "released by " + d.Owner.Name
	}
	return detail.Type()
}

func describeTerms(terms []trace.Term) string {
	var parts []string
	for _, t := range terms {
		parts = append(parts, fmt.Sprintf("%d %s", t.Value, t.Name))
	}
	return strings.Join(parts, ", ")
}
