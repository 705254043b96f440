package rollout

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// IsScalingEvent says whether spec.replicas of d differs from what an active
// ReplicaSet was last sized for, by its desired-replicas annotation. Those
// without a readable annotation and those of size 0 do not count, so that
// scaling up from 0 is no scaling event. Upstream: isScalingEvent.
func IsScalingEvent(d *appsv1.Deployment, sets Sets, v Version) bool {
	for rs := range sets.each {
		if Size(rs) == 0 {
			continue
		}
		if n, ok := DesiredAnnotation(rs, v); ok && n != Desired(d) {
			return true
		}
	}
	return false
}

// Scaling is what to do when spec.replicas changed, or whenever a Deployment is paused.
type Scaling struct {
	Steps []Step
	// Wedged is the ReplicaSet that makes every pass a scaling event without
	// anything to scale: its size is right, its annotation is not. Nil when there is none.
	Wedged *Step
}

// PlanScaling sizes the ReplicaSets for spec.replicas outside the rollout's own
// steps. A single active ReplicaSet (or else the latest) follows it; a saturated
// new one sees the old ones go; several share the difference of a rolling
// update in proportion to their size. Upstream: scale.
func PlanScaling(d *appsv1.Deployment, sets Sets, v Version) Scaling {
	if rs := ActiveOrLatest(sets); rs != nil {
		return follow(d, rs, v)
	}
	if isSaturated(d, sets.New) {
		return Scaling{Steps: replaceOld(d, sets)}
	}
	if IsRollingUpdate(d) {
		return Scaling{Steps: PlanProportional(d, sets, v)}
	}
	return Scaling{}
}

func follow(d *appsv1.Deployment, rs *appsv1.ReplicaSet, v Version) Scaling {
	if Size(rs) != Desired(d) {
		return Scaling{Steps: []Step{FollowDesired(d, rs)}}
	}
	n, ok := DesiredAnnotation(rs, v)
	if !ok || n == Desired(d) || Size(rs) == 0 {
		return Scaling{}
	}
	b := sum(trace.Wedged,
		trace.Term{Name: "annotated", Value: n},
		trace.Term{Name: "desired", Value: -Desired(d)})
	return Scaling{Wedged: &Step{ReplicaSet: rs, To: Desired(d), Budget: b}}
}

// isSaturated says whether the ReplicaSet has, was sized for, and makes
// available all pods of d. Upstream: IsSaturated.
func isSaturated(d *appsv1.Deployment, rs *appsv1.ReplicaSet) bool {
	if rs == nil {
		return false
	}
	annotated, err := strconv.Atoi(rs.Annotations[DesiredReplicasAnnotation])
	return err == nil &&
		Size(rs) == Desired(d) &&
		int32(annotated) == Desired(d) &&
		rs.Status.AvailableReplicas == Desired(d)
}

// replaceOld empties the active old ReplicaSets, newest first.
func replaceOld(d *appsv1.Deployment, sets Sets) []Step {
	b := sum(trace.Saturated,
		trace.Term{Name: "available", Value: sets.New.Status.AvailableReplicas},
		trace.Term{Name: "desired", Value: -Desired(d)})
	var steps []Step
	for _, rs := range ByNewest(Active(sets.Old)) {
		steps = append(steps, Step{ReplicaSet: rs, Budget: b})
	}
	return steps
}

// PausedRollout is what a paused Deployment leaves undone; false when no rollout
// waits: there is a new ReplicaSet and no old one has pods.
func PausedRollout(d *appsv1.Deployment, sets Sets) (Budget, bool) {
	desired := trace.Term{Name: "desired", Value: Desired(d)}
	if sets.New == nil {
		return sum(trace.PausedRollout, desired), true
	}
	b := sum(trace.PausedRollout, desired, trace.Term{Name: "updated", Value: -Size(sets.New)})
	return b, len(Active(sets.Old)) > 0
}

// FollowDesired gives a ReplicaSet all desired pods.
func FollowDesired(d *appsv1.Deployment, rs *appsv1.ReplicaSet) Step {
	return Step{ReplicaSet: rs, To: Desired(d), Budget: desiredBudget(d)}
}
