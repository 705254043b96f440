package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// DeploymentStatus adds up what the ReplicaSets report and judges availability.
// Conditions other than Available are those of d. unavailableReplicas counts
// from the sizes, not from the pods that exist. Upstream: calculateStatus.
func DeploymentStatus(d *appsv1.Deployment, sets Sets, v Version, now time.Time) appsv1.DeploymentStatus {
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		CollisionCount:     d.Status.CollisionCount,
	}
	all := sets.All()
	for _, rs := range all {
		status.Replicas += rs.Status.Replicas
		status.ReadyReplicas += rs.Status.ReadyReplicas
		status.AvailableReplicas += rs.Status.AvailableReplicas
	}
	if sets.New != nil {
		status.UpdatedReplicas = sets.New.Status.Replicas
	}
	status.UnavailableReplicas = max(0, TotalSize(all)-status.AvailableReplicas)
	if v.TerminatingReplicas() {
		status.TerminatingReplicas = terminatingReplicas(all)
	}
	status.Conditions = SetCondition(append([]appsv1.DeploymentCondition(nil), d.Status.Conditions...),
		availability(d, status.AvailableReplicas, now))
	return status
}

func availability(d *appsv1.Deployment, available int32, now time.Time) appsv1.DeploymentCondition {
	if available >= Desired(d)-MaxUnavailable(d) {
		return newCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, ReasonMinimumReplicasAvailable,
			"Deployment has minimum availability.", now)
	}
	return newCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, ReasonMinimumReplicasUnavailable,
		"Deployment does not have minimum availability.", now)
}

// terminatingReplicas is the sum of those reported. It is unknown (nil) when a
// ReplicaSet that was synced reports none; one never synced has none.
func terminatingReplicas(all []*appsv1.ReplicaSet) *int32 {
	total := int32(0)
	for _, rs := range all {
		switch {
		case rs.Status.TerminatingReplicas != nil:
			total += *rs.Status.TerminatingReplicas
		case rs.Status.ObservedGeneration != 0:
			return nil
		}
	}
	return &total
}
