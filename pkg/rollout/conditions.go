package rollout

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the condition Progressing.
const (
	ReasonNewReplicaSetCreated     = "NewReplicaSetCreated"
	ReasonFoundNewReplicaSet       = "FoundNewReplicaSet"
	ReasonReplicaSetUpdated        = "ReplicaSetUpdated"
	ReasonNewReplicaSetAvailable   = "NewReplicaSetAvailable"
	ReasonReplicaSetCreateError    = "ReplicaSetCreateError"
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	ReasonDeploymentPaused         = "DeploymentPaused"
	ReasonDeploymentResumed        = "DeploymentResumed"
)

// Reasons of the condition Available.
const (
	ReasonMinimumReplicasAvailable   = "MinimumReplicasAvailable"
	ReasonMinimumReplicasUnavailable = "MinimumReplicasUnavailable"
)

// Condition finds the condition of a type; nil when there is none. It points
// into the list: read only.
func Condition(conditions []appsv1.DeploymentCondition, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// NewProgressing makes a Progressing condition of now.
func NewProgressing(status corev1.ConditionStatus, reason, message string, now time.Time) appsv1.DeploymentCondition {
	return newCondition(appsv1.DeploymentProgressing, status, reason, message, now)
}

func newCondition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string, now time.Time) appsv1.DeploymentCondition {
	return appsv1.DeploymentCondition{
		Type:               kind,
		Status:             status,
		LastUpdateTime:     metav1.NewTime(now),
		LastTransitionTime: metav1.NewTime(now),
		Reason:             reason,
		Message:            message,
	}
}

// SetCondition puts a condition at the end of the list in place of the one of
// its type. One with the same status and reason stays instead, message, times,
// place and all; one with the same status passes on its transition time.
// Upstream: SetDeploymentCondition.
func SetCondition(conditions []appsv1.DeploymentCondition, c appsv1.DeploymentCondition) []appsv1.DeploymentCondition {
	current := Condition(conditions, c.Type)
	if current != nil && current.Status == c.Status {
		if current.Reason == c.Reason {
			return conditions
		}
		c.LastTransitionTime = current.LastTransitionTime
	}
	return append(RemoveCondition(conditions, c.Type), c)
}

// RemoveCondition is the list without the conditions of a type; nil when none
// are left. The list given is left alone, and is what comes back, without room
// for more, when it has no such condition.
func RemoveCondition(conditions []appsv1.DeploymentCondition, kind appsv1.DeploymentConditionType) []appsv1.DeploymentCondition {
	switch {
	case len(conditions) == 0:
		return nil
	case Condition(conditions, kind) == nil:
		return slices.Clip(conditions)
	}
	var kept []appsv1.DeploymentCondition
	for i := range conditions {
		if conditions[i].Type != kind {
			kept = append(slices.Grow(kept, len(conditions)), conditions[i])
		}
	}
	return kept
}

// replicaFailure is the first ReplicaFailure of the new ReplicaSet, else of any
// in order, as a condition of the Deployment; nil when none has one.
func replicaFailure(sets Sets) *appsv1.DeploymentCondition {
	if sets.New != nil {
		if c := ReplicaSetCondition(sets.New.Status, appsv1.ReplicaSetReplicaFailure); c != nil {
			return asReplicaFailure(c)
		}
	}
	for _, rs := range sets.Old {
		if c := ReplicaSetCondition(rs.Status, appsv1.ReplicaSetReplicaFailure); c != nil {
			return asReplicaFailure(c)
		}
	}
	return nil
}

func asReplicaFailure(c *appsv1.ReplicaSetCondition) *appsv1.DeploymentCondition {
	return &appsv1.DeploymentCondition{
		Type:               appsv1.DeploymentReplicaFailure,
		Status:             c.Status,
		LastUpdateTime:     c.LastTransitionTime,
		LastTransitionTime: c.LastTransitionTime,
		Reason:             c.Reason,
		Message:            c.Message,
	}
}
