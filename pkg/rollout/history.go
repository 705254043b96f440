package rollout

import (
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// PlanHistory picks the old ReplicaSets to delete for revisionHistoryLimit: of
// those with the lowest revisions beyond it, the ones that are empty and whose
// emptiness their controller has reported. One that is not keeps its place
// among those beyond the limit; no later one goes in its stead.
// Upstream: cleanupDeployment.
func PlanHistory(d *appsv1.Deployment, old []*appsv1.ReplicaSet) ([]*appsv1.ReplicaSet, Budget) {
	limit := d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == math.MaxInt32 {
		return nil, Budget{Rule: trace.History}
	}
	var alive []*appsv1.ReplicaSet
	for _, rs := range old {
		if rs.DeletionTimestamp == nil {
			alive = append(alive, rs)
		}
	}
	b := sum(trace.History,
		trace.Term{Name: "sets", Value: int32(len(alive))},
		trace.Term{Name: "limit", Value: -*limit})
	if b.Result <= 0 {
		return nil, b
	}
	slices.SortFunc(alive, compareRevision)
	var victims []*appsv1.ReplicaSet
	for _, rs := range alive[:min(int(b.Result), len(alive))] {
		if rs.Status.Replicas == 0 && Size(rs) == 0 && rs.Generation <= rs.Status.ObservedGeneration {
			victims = append(victims, rs)
		}
	}
	return victims, b
}

// compareRevision orders by revision, or by creation where one is unreadable.
func compareRevision(a, b *appsv1.ReplicaSet) int {
	ra, errA := Revision(a)
	rb, errB := Revision(b)
	switch {
	case errA != nil || errB != nil || ra == rb:
		return compareCreation(a, b)
	case ra < rb:
		return -1
	}
	return 1
}
