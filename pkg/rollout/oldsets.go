package rollout

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Step is one ReplicaSet that should get another size, and why.
type Step struct {
	ReplicaSet *appsv1.ReplicaSet
	To         int32
	// Refresh asks for a write even when only the desired-replicas and
	// max-replicas annotations are out of date.
	Refresh bool
	Budget  Budget
}

// Surplus is how many old pods may go: all pods, less those needed and less
// those of the new ReplicaSet that are not available, whichever old pods they
// are. Upstream: reconcileOldReplicaSets.
func Surplus(d *appsv1.Deployment, sets Sets) Budget {
	return sum(trace.Surplus,
		trace.Term{Name: "pods", Value: sets.totalSize()},
		trace.Term{Name: "needed", Value: -MinAvailable(d)},
		trace.Term{Name: "notReady", Value: -(Size(sets.New) - sets.New.Status.AvailableReplicas)})
}

// PlanUnhealthy takes pods that are not available from the old ReplicaSets,
// oldest first, at most surplus in all. A ReplicaSet whose status lags so far
// that it reports more available pods than its size is returned as impossible:
// upstream has taken the steps before it by then, ends in an error that it
// ignores, and scales no old ReplicaSet further in this pass.
// Upstream: cleanupUnhealthyReplicas.
func PlanUnhealthy(activeOld []*appsv1.ReplicaSet, surplus int32) (steps []Step, impossible *Step) {
	left := surplus
	for _, rs := range ByCreation(activeOld) {
		if left <= 0 {
			break
		}
		if Size(rs) == 0 || Size(rs) == rs.Status.AvailableReplicas {
			continue
		}
		b := sum(trace.Unhealthy,
			trace.Term{Name: "size", Value: Size(rs)},
			trace.Term{Name: "available", Value: -rs.Status.AvailableReplicas}).limited("left", left)
		step := Step{ReplicaSet: rs, To: Size(rs) - b.Result, Budget: b}
		if b.Result < 0 {
			return steps, &step
		}
		steps = append(steps, step)
		left -= b.Result
	}
	return steps, nil
}

// Spare is how many available old pods may go while enough stay available,
// counting those of the new ReplicaSet and of the active old ones.
func Spare(d *appsv1.Deployment, newSet *appsv1.ReplicaSet, activeOld []*appsv1.ReplicaSet) Budget {
	available := newSet.Status.AvailableReplicas
	for _, rs := range activeOld {
		available += rs.Status.AvailableReplicas
	}
	return sum(trace.Available,
		trace.Term{Name: "available", Value: available},
		trace.Term{Name: "needed", Value: -MinAvailable(d)})
}

// PlanAvailable takes the spare pods from the old ReplicaSets, oldest first.
// Upstream: scaleDownOldReplicaSetsForRollingUpdate.
func PlanAvailable(activeOld []*appsv1.ReplicaSet, spare Budget) []Step {
	var steps []Step
	taken := int32(0)
	for _, rs := range ByCreation(activeOld) {
		if taken >= spare.Result {
			break
		}
		if Size(rs) == 0 {
			continue
		}
		terms := spare.Terms[:len(spare.Terms):len(spare.Terms)]
		if taken > 0 {
			terms = append(terms, trace.Term{Name: "taken", Value: -taken})
		}
		b := sum(trace.Available, terms...).limited("size", Size(rs))
		steps = append(steps, Step{ReplicaSet: rs, To: Size(rs) - b.Result, Budget: b})
		taken += b.Result
	}
	return steps
}

// PlanRecreate takes all pods of the old ReplicaSets.
// Upstream: scaleDownOldReplicaSetsForRecreate.
func PlanRecreate(activeOld []*appsv1.ReplicaSet) []Step {
	var steps []Step
	for _, rs := range activeOld {
		b := sum(trace.Recreate, trace.Term{Name: "size", Value: Size(rs)})
		steps = append(steps, Step{ReplicaSet: rs, Budget: b})
	}
	return steps
}

// OldPodsRunning counts what a Recreate rollout waits for: the pods that old
// ReplicaSets report or, should they report none, those of oldPods that have
// not ended, terminating or not. Upstream: oldPodsRunning.
func OldPodsRunning(old []*appsv1.ReplicaSet, oldPods []*corev1.Pod) Budget {
	reported := int32(0)
	for _, rs := range old {
		reported += rs.Status.Replicas
	}
	if reported > 0 {
		return sum(trace.OldPodsRunning, trace.Term{Name: "pods", Value: reported})
	}
	running := int32(0)
	for _, pod := range oldPods {
		if !IsPodTerminal(pod) {
			running++
		}
	}
	return sum(trace.OldPodsRunning, trace.Term{Name: "running", Value: running})
}
