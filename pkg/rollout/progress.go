package rollout

import (
	"fmt"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// HasProgressDeadline says whether a rollout of d can time out: nil and the
// largest int32 mean it cannot.
func HasProgressDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

// Complete says whether status shows all desired pods updated and available,
// none beside them, and this generation observed. Upstream: DeploymentComplete.
func Complete(d *appsv1.Deployment, status appsv1.DeploymentStatus) bool {
	desired := Desired(d)
	return status.UpdatedReplicas == desired &&
		status.Replicas == desired &&
		status.AvailableReplicas == desired &&
		status.ObservedGeneration >= d.Generation
}

// Progressed says whether next shows more updated, ready or available pods or
// fewer old ones than last. Upstream: DeploymentProgressing.
func Progressed(last, next appsv1.DeploymentStatus) bool {
	return next.UpdatedReplicas > last.UpdatedReplicas ||
		next.Replicas-next.UpdatedReplicas < last.Replicas-last.UpdatedReplicas ||
		next.ReadyReplicas > last.ReadyReplicas ||
		next.AvailableReplicas > last.AvailableReplicas
}

// TimedOut says whether the last progress that status tells of is more than the
// deadline ago; a rollout once timed out stays so, a completed one never is.
// Upstream: DeploymentTimedOut.
func TimedOut(d *appsv1.Deployment, status appsv1.DeploymentStatus, now time.Time) bool {
	c := Condition(status.Conditions, appsv1.DeploymentProgressing)
	if !HasProgressDeadline(d) || c == nil || c.Reason == ReasonNewReplicaSetAvailable {
		return false
	}
	return c.Reason == ReasonProgressDeadlineExceeded || c.LastUpdateTime.Add(deadline(d)).Before(now)
}

func deadline(d *appsv1.Deployment) time.Duration {
	return time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second
}

// RolloutStatus is DeploymentStatus with the conditions Progressing and
// ReplicaFailure brought up to date. Upstream: syncRolloutStatus.
func RolloutStatus(d *appsv1.Deployment, sets Sets, v Version, now time.Time) appsv1.DeploymentStatus {
	status := DeploymentStatus(d, sets, v, now)
	if !HasProgressDeadline(d) {
		status.Conditions = RemoveCondition(status.Conditions, appsv1.DeploymentProgressing)
	} else {
		status.Conditions = progressing(d, sets, status, now)
	}
	if failure := replicaFailure(sets); failure != nil {
		status.Conditions = SetCondition(status.Conditions, *failure)
	} else {
		status.Conditions = RemoveCondition(status.Conditions, appsv1.DeploymentReplicaFailure)
	}
	return status
}

// progressing judges the progress between d.Status and status. A rollout that
// was complete and has no old pods is not judged: its pods may come and go.
func progressing(d *appsv1.Deployment, sets Sets, status appsv1.DeploymentStatus, now time.Time) []appsv1.DeploymentCondition {
	current := Condition(d.Status.Conditions, appsv1.DeploymentProgressing)
	if status.Replicas == status.UpdatedReplicas && current != nil && current.Reason == ReasonNewReplicaSetAvailable {
		return status.Conditions
	}
	switch {
	case Complete(d, status):
		return SetCondition(status.Conditions, NewProgressing(corev1.ConditionTrue,
			ReasonNewReplicaSetAvailable, progressSubject(d, sets)+" has successfully progressed.", now))
	case Progressed(d.Status, status):
		c := NewProgressing(corev1.ConditionTrue, ReasonReplicaSetUpdated, progressSubject(d, sets)+" is progressing.", now)
		if current != nil && current.Status == corev1.ConditionTrue {
			c.LastTransitionTime = current.LastTransitionTime
		}
		// Not SetCondition: the deadline counts from the latest progress, also when the reason stays.
		return append(RemoveCondition(status.Conditions, appsv1.DeploymentProgressing), c)
	case TimedOut(d, status, now):
		return SetCondition(status.Conditions, NewProgressing(corev1.ConditionFalse,
			ReasonProgressDeadlineExceeded, progressSubject(d, sets)+" has timed out progressing.", now))
	}
	return status.Conditions
}

// progressSubject is what messages about progress are about.
func progressSubject(d *appsv1.Deployment, sets Sets) string {
	if sets.New != nil {
		return fmt.Sprintf("ReplicaSet %q", sets.New.Name)
	}
	return fmt.Sprintf("Deployment %q", d.Name)
}

// PauseCondition is the condition Progressing that a Deployment just paused or
// resumed needs; nil when it needs none, also after its deadline was exceeded.
// A resumed rollout has its whole deadline again. Upstream: checkPausedConditions.
func PauseCondition(d *appsv1.Deployment, now time.Time) *appsv1.DeploymentCondition {
	current := Condition(d.Status.Conditions, appsv1.DeploymentProgressing)
	if !HasProgressDeadline(d) || (current != nil && current.Reason == ReasonProgressDeadlineExceeded) {
		return nil
	}
	switch noted := current != nil && current.Reason == ReasonDeploymentPaused; {
	case d.Spec.Paused && !noted:
		c := NewProgressing(corev1.ConditionUnknown, ReasonDeploymentPaused, "Deployment is paused", now)
		return &c
	case !d.Spec.Paused && noted:
		c := NewProgressing(corev1.ConditionUnknown, ReasonDeploymentResumed, "Deployment is resumed", now)
		return &c
	}
	return nil
}

// Recheck is when to look again whether a rollout has timed out.
type Recheck struct {
	Needed bool
	Soon   bool          // within a second: as soon as the queue's rate limit allows
	After  time.Duration // otherwise: a second beyond the deadline, since times are whole seconds
}

// ProgressRecheck says when to look again at d whose status did not change.
// Upstream: requeueStuckDeployment.
func ProgressRecheck(d *appsv1.Deployment, status appsv1.DeploymentStatus, now time.Time) Recheck {
	c := Condition(d.Status.Conditions, appsv1.DeploymentProgressing)
	if !HasProgressDeadline(d) || c == nil || Complete(d, status) || c.Reason == ReasonProgressDeadlineExceeded {
		return Recheck{}
	}
	after := c.LastUpdateTime.Add(deadline(d)).Sub(now)
	if after < time.Second {
		return Recheck{Needed: true, Soon: true}
	}
	return Recheck{Needed: true, After: after + time.Second}
}
