package rollout

import (
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// DeploymentStatus adds up what the ReplicaSets report and judges availability.
// Conditions other than Available are those of d. unavailableReplicas counts
// from the sizes, not from the pods that exist. Upstream: calculateStatus.
func DeploymentStatus(d *appsv1.Deployment, sets Sets, v Version, now time.Time) appsv1.DeploymentStatus {
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		CollisionCount:     d.Status.CollisionCount,
	}
	for rs := range sets.each {
		status.Replicas += rs.Status.Replicas
		status.ReadyReplicas += rs.Status.ReadyReplicas
		status.AvailableReplicas += rs.Status.AvailableReplicas
	}
	if sets.New != nil {
		status.UpdatedReplicas = sets.New.Status.Replicas
	}
	status.UnavailableReplicas = max(0, sets.totalSize()-status.AvailableReplicas)
	if v.TerminatingReplicas() {
		status.TerminatingReplicas = terminatingReplicas(d.Status.TerminatingReplicas, sets)
	}
	status.Conditions = SetCondition(d.Status.Conditions, availability(d, status.AvailableReplicas, now))
	return status
}

// DeploymentStatusChanged says whether a computed status has to be written:
// something in it differs from the Deployment's own, be it the zone of a time.
// Upstream: syncRolloutStatus, syncDeploymentStatus.
func DeploymentStatusChanged(d *appsv1.Deployment, status appsv1.DeploymentStatus) bool {
	was := &d.Status
	return was.ObservedGeneration != status.ObservedGeneration ||
		was.Replicas != status.Replicas ||
		was.UpdatedReplicas != status.UpdatedReplicas ||
		was.ReadyReplicas != status.ReadyReplicas ||
		was.AvailableReplicas != status.AvailableReplicas ||
		was.UnavailableReplicas != status.UnavailableReplicas ||
		!ptr.Equal(was.TerminatingReplicas, status.TerminatingReplicas) ||
		!ptr.Equal(was.CollisionCount, status.CollisionCount) ||
		!sameConditions(was.Conditions, status.Conditions)
}

// sameConditions compares as reflect does, and not at all where both are one list.
func sameConditions(a, b []appsv1.DeploymentCondition) bool {
	if len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] {
		return true
	}
	return reflect.DeepEqual(a, b)
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
func terminatingReplicas(was *int32, sets Sets) *int32 {
	total := int32(0)
	for rs := range sets.each {
		switch {
		case rs.Status.TerminatingReplicas != nil:
			total += *rs.Status.TerminatingReplicas
		case rs.Status.ObservedGeneration != 0:
			return nil
		}
	}
	return sharedCount(was, total)
}
