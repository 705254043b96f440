package replicaset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// updateStatus writes a status if it says anything new, and returns the
// ReplicaSet as it is then. A write that fails, for whatever reason, is tried
// once more on a fresh copy with the same status. (replicaset updateReplicaSetStatus)
func updateStatus(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) (*appsv1.ReplicaSet, error) {
	if !rollout.ReplicaSetStatusChanged(rs, status) {
		return rs, nil
	}
	// The generation acted upon, even if the fresh copy has a later one.
	status.ObservedGeneration = rs.Generation
	updated, err := env.API.UpdateReplicaSetStatus(ctx, withStatus(rs, status))
	if err == nil {
		return updated, nil
	}
	fresh, err := env.API.GetReplicaSet(ctx, rs.Namespace, rs.Name)
	if err != nil {
		return nil, err
	}
	return env.API.UpdateReplicaSetStatus(ctx, withStatus(fresh, status))
}

func withStatus(rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) *appsv1.ReplicaSet {
	next := *rs
	next.Status = status
	return &next
}

// planAvailabilityCheck sees to it that the ReplicaSet is looked at again when
// the next of its ready pods becomes available. evaluated is the time its
// status was computed for. (end of replicaset syncReplicaSet)
func (c *Controller) planAvailabilityCheck(env *engine.Env, rs *appsv1.ReplicaSet, active []*corev1.Pod, evaluated time.Time) {
	if rs.Spec.MinReadySeconds <= 0 || !c.awaitsAvailability(rs) {
		return
	}
	after := time.Duration(rs.Spec.MinReadySeconds) * time.Second
	if c.version.AvailableAtBoundary() {
		if next, ok := rollout.NextAvailability(active, rs.Spec.MinReadySeconds, evaluated, env.Clock.Now()); ok {
			after = next
		}
	}
	requeueAfter(env, rs, after)
}

// awaitsAvailability: older releases look again only once all pods are ready.
func (c *Controller) awaitsAvailability(rs *appsv1.ReplicaSet) bool {
	ready, available := rs.Status.ReadyReplicas, rs.Status.AvailableReplicas
	if c.version.AvailableAtBoundary() {
		return ready != available
	}
	wanted := int32(wantedPods(rs))
	return ready == wanted && available != wanted
}

func requeueAfter(env *engine.Env, rs *appsv1.ReplicaSet, after time.Duration) {
	env.Queue.AddAfter(keyOf(rs), after)
	env.Trace.Emit(ref(rs), trace.Requeued{After: after, Why: "MinReadySeconds"})
}
