package replicaset

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

const (
	// burstReplicas is the most pods one pass creates or deletes. (replicaset BurstReplicas)
	burstReplicas = 500
	// slowStartInitialBatch is the size of the first batch of creations. (controller.SlowStartInitialBatchSize)
	slowStartInitialBatch = 1
)

// manageReplicas brings the active pods nearer to spec.replicas, unless earlier
// writes are still to be seen. It returns one of the errors of its writes.
func (c *Controller) manageReplicas(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, active []*corev1.Pod, seen expected) error {
	wanted := wantedPods(rs)
	surplus := len(active) - wanted
	switch {
	case surplus == 0:
		return nil
	case !seen.ok:
		env.Trace.Emit(ref(rs), trace.Held{
			Why:    trace.Expectations,
			Terms:  []trace.Term{{Name: "creations", Value: int32(seen.creations)}, {Name: "deletions", Value: int32(seen.deletions)}},
			Result: int32(seen.creations + seen.deletions),
		})
		return nil
	}
	env.Trace.Emit(ref(rs), trace.Budgeted{
		Rule:   trace.Wanted,
		Terms:  []trace.Term{{Name: "there", Value: int32(len(active))}, {Name: "wanted", Value: -int32(wanted)}},
		Result: int32(surplus),
	})
	if surplus < 0 {
		return c.createPods(ctx, env, rs, min(-surplus, burstReplicas))
	}
	return c.deletePods(ctx, env, rs, active, min(surplus, burstReplicas))
}

func wantedPods(rs *appsv1.ReplicaSet) int { return int(ptr.Deref(rs.Spec.Replicas, 1)) }

// createPods makes n pods. Those that failed or were never tried will not be
// observed, so they are no longer expected.
func (c *Controller) createPods(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, n int) error {
	c.expectations.expectCreations(keyOf(rs), n, env.Clock.Now())
	wanted := podFromTemplate(rs)
	made, err := slowStart(ctx, env.Fanout, n, func(ctx context.Context) error {
		return c.createPod(ctx, env, rs, wanted)
	})
	c.expectations.creationsSeen(keyOf(rs), n-made)
	return err
}

// slowStart makes up to n calls in batches of 1, 2, 4 and so on, so that calls
// bound to fail alike fail only a few times. A batch with a failure is finished
// and is the last. It returns the number of calls that succeeded and one of the
// errors. (replicaset slowStartBatch)
func slowStart(ctx context.Context, fanout engine.Fanout, n int, call func(ctx context.Context) error) (int, error) {
	succeeded := 0
	for batch := min(n, slowStartInitialBatch); batch > 0; batch = min(2*batch, n-succeeded) {
		errs := fanout(ctx, batch, func(ctx context.Context, _ int) error { return call(ctx) })
		failed, err := failures(errs)
		succeeded += batch - failed
		if err != nil {
			return succeeded, err
		}
	}
	return succeeded, nil
}

// failures counts the errors and returns the first.
func failures(errs []error) (n int, first error) {
	for _, err := range errs {
		if err == nil {
			continue
		}
		n++
		if first == nil {
			first = err
		}
	}
	return n, first
}

// deletePods deletes n of the active pods, those first that are missed least.
func (c *Controller) deletePods(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, active []*corev1.Pod, n int) error {
	now := env.Clock.Now()
	victims := c.victims(env.Cache, rs, active, n, now)
	c.expectations.expectDeletions(keyOf(rs), podKeys(victims.Pods), now)
	errs := env.Fanout(ctx, n, func(ctx context.Context, i int) error {
		return c.deletePod(ctx, env, rs, victims.Pods[i], deletion(rs, victims.Why(i)))
	})
	_, err := failures(errs)
	return err
}

// victims chooses n of the active pods.
func (c *Controller) victims(cache engine.Cache, rs *appsv1.ReplicaSet, active []*corev1.Pod, n int, now time.Time) rollout.Victims {
	if n == len(active) {
		return c.version.ChooseVictims(active, nil, n, now)
	}
	set := c.census.of(keyOf(rs))
	c.countRelated(cache, rs, set)
	looks := set.ranks.recall(active, func(pod *corev1.Pod) rollout.RankLooks {
		return c.version.LookAtRank(pod, set.on(pod.Spec.NodeName))
	})
	return set.ranking.Choose(looks, n, now)
}

func podKeys(pods []*corev1.Pod) []engine.Key {
	keys := make([]engine.Key, len(pods))
	for i, pod := range pods {
		keys[i] = keyOf(pod)
	}
	return keys
}

// deletion words the choice of a victim for the trace.
func deletion(rs *appsv1.ReplicaSet, why rollout.Ranked) trace.Deleted {
	if why.Rule == rollout.RankAll {
		return trace.Deleted{Owner: ref(rs), Reason: "All"}
	}
	return trace.Deleted{Owner: ref(rs), Reason: "Ranked", Rank: &trace.Rank{
		Rule: string(why.Rule), Mine: why.Mine, Other: why.Other, Stays: why.Stays.Name, OnNode: why.OnNode,
	}}
}

// countRelated counts by node the active pods that match any ReplicaSet of
// the same owner: all revisions of a Deployment weigh on its nodes. A ReplicaSet
// without an owner has no such pods, not even its own.
// (replicaset getIndirectlyRelatedPods, getPodsRankedByRelatedPodsOnSameNode)
func (c *Controller) countRelated(cache engine.Cache, rs *appsv1.ReplicaSet, set *counted) {
	owner := metav1.GetControllerOfNoCopy(rs)
	if owner == nil {
		set.relateTo(nil)
		return
	}
	related := cache.ReplicaSetsOf(owner.UID)
	set.relateTo(related)
	selectors, ok := c.relatedSelectors(related)
	if !ok {
		set.relateTo(nil)
		return
	}
	for namespace, matching := range selectors { // sums do not depend on the order
		var last match
		set.relatives(namespace).recall(cache.PodsIn(namespace), func(pod *corev1.Pod) relative {
			r := relative{rollout.IsPodActive(pod) && last.of(pod, matching...), set.on(pod.Spec.NodeName)}
			r.weigh(1)
			return r
		})
	}
}

// relatedSelectors parses the selectors of ReplicaSets by namespace, those of
// the largest first since most pods are theirs. An invalid one is left out; in
// older releases it spoils them all.
func (c *Controller) relatedSelectors(related []*appsv1.ReplicaSet) (map[string][]labels.Selector, bool) {
	slices.SortStableFunc(related, func(a, b *appsv1.ReplicaSet) int { return wantedPods(b) - wantedPods(a) })
	selectors := map[string][]labels.Selector{}
	for _, rs := range related {
		selector, err := c.parseSelector(rs.Spec.Selector)
		if err != nil {
			if !c.version.SkipsInvalidSelectors() {
				return nil, false
			}
			continue
		}
		selectors[rs.Namespace] = append(selectors[rs.Namespace], selector)
	}
	return selectors, true
}

func matchesAny(selectors []labels.Selector, pod *corev1.Pod) bool {
	for _, selector := range selectors {
		if selector.Matches(labels.Set(pod.Labels)) {
			return true
		}
	}
	return false
}
