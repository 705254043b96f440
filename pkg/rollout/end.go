package rollout

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// How a workload's rollout has ended, in the words of trace.Ended.
const (
	EndComplete = "Complete" // all pods are of the newest template and available
	EndDeadline = "Deadline" // its progress deadline has passed
	EndPaused   = "Paused"   // it is paused and not complete
)

// DeploymentEnd says how a Deployment's rollout has ended, or nothing while it
// goes on. It is complete as kubectl rollout status has it, and only once its
// controller has said so where it publishes progress.
func DeploymentEnd(d *appsv1.Deployment) string {
	if d.Status.ObservedGeneration < d.Generation {
		return ""
	}
	progress := Condition(d.Status.Conditions, appsv1.DeploymentProgressing)
	switch {
	case progress != nil && progress.Status == corev1.ConditionFalse && progress.Reason == ReasonProgressDeadlineExceeded:
		return EndDeadline
	case Complete(d, d.Status) && (progress == nil || progress.Reason == ReasonNewReplicaSetAvailable):
		return EndComplete
	case d.Spec.Paused:
		return EndPaused
	}
	return ""
}

// ReplicaSetEnd says whether a ReplicaSet without an owner has all its pods available.
func ReplicaSetEnd(rs *appsv1.ReplicaSet) string {
	if s := rs.Status; s.ObservedGeneration >= rs.Generation && s.AvailableReplicas == *rs.Spec.Replicas && s.Replicas == s.AvailableReplicas {
		return EndComplete
	}
	return ""
}
