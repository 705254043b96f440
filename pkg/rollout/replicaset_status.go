package rollout

import (
	"maps"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The reasons of a ReplicaSet's ReplicaFailure condition, and of the Events
// about the same failures. (controller.FailedCreatePodReason, FailedDeletePodReason)
const (
	FailedCreateReason = "FailedCreate"
	FailedDeleteReason = "FailedDelete"
)

// ReplicaSetStatus computes the status of a ReplicaSet from the active pods it
// has claimed, the number of its terminating pods, and the error its attempt
// to create or delete pods ended with (nil for none, also when there was no
// attempt). Both counts are those before the attempt. The observed generation
// stays as it was; whoever writes the status sets it. (replicaset calculateStatus)
func (v Version) ReplicaSetStatus(rs *appsv1.ReplicaSet, active []*corev1.Pod, terminating int32, failure error, now time.Time) appsv1.ReplicaSetStatus {
	var counts PodCounts
	for _, pod := range active {
		v.Count(&counts, LookAt(rs, pod), rs.Spec.MinReadySeconds, now)
	}
	return v.ReplicaSetStatusOf(rs, counts, terminating, failure, now)
}

// PodLooks is what a ReplicaSet's status depends on in one pod.
type PodLooks struct {
	Labeled bool // carries all labels of the template
	Ready   bool
	Since   time.Time // when the Ready condition last changed; zero when unknown
}

// LookAt sees a pod as its ReplicaSet's status does.
func LookAt(rs *appsv1.ReplicaSet, pod *corev1.Pod) PodLooks {
	looks := PodLooks{Labeled: HasLabels(pod.Labels, rs.Spec.Template.Labels)}
	if c := PodReadyCondition(pod); c != nil && c.Status == corev1.ConditionTrue {
		looks.Ready, looks.Since = true, c.LastTransitionTime.Time
	}
	return looks
}

// PodCounts are the counts of a ReplicaSet's active pods.
type PodCounts struct{ Active, Labeled, Ready, Available int32 }

// Count adds one active pod to the counts.
func (v Version) Count(counts *PodCounts, pod PodLooks, minReadySeconds int32, now time.Time) {
	counts.Add(pod, pod.Ready && v.availableSince(pod.Since, minReadySeconds, now), 1)
}

// Add counts one active pod as so many; -1 takes it out again.
func (c *PodCounts) Add(pod PodLooks, available bool, as int32) {
	c.Active += as
	if pod.Labeled {
		c.Labeled += as
	}
	if pod.Ready {
		c.Ready += as
	}
	if available {
		c.Available += as
	}
}

// ReplicaSetStatusOf is ReplicaSetStatus for pods that are counted already.
func (v Version) ReplicaSetStatusOf(rs *appsv1.ReplicaSet, counts PodCounts, terminating int32, failure error, now time.Time) appsv1.ReplicaSetStatus {
	status := rs.Status
	status.Replicas, status.FullyLabeledReplicas = counts.Active, counts.Labeled
	status.ReadyReplicas, status.AvailableReplicas = counts.Ready, counts.Available
	status.TerminatingReplicas = nil
	if v.TerminatingReplicas() {
		status.TerminatingReplicas = sharedCount(rs.Status.TerminatingReplicas, terminating)
	}

	had := ReplicaSetCondition(rs.Status, appsv1.ReplicaSetReplicaFailure) != nil
	switch {
	case failure != nil && !had:
		// A failure that is already told keeps its first message.
		SetReplicaSetCondition(&status, appsv1.ReplicaSetCondition{
			Type:               appsv1.ReplicaSetReplicaFailure,
			Status:             corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now),
			Reason:             failureReason(int(counts.Active) - int(ptr.Deref(rs.Spec.Replicas, 1))),
			Message:            failure.Error(),
		})
	case failure == nil && had:
		RemoveReplicaSetCondition(&status, appsv1.ReplicaSetReplicaFailure)
	}
	return status
}

// sharedCount returns the pointer there is when it already says n, so that an
// unchanged status costs no allocation.
func sharedCount(was *int32, n int32) *int32 {
	if was != nil && *was == n {
		return was
	}
	return ptr.To(n)
}

// HasLabels says whether have holds every label of want. The pods of a template
// may share its map, which then needs no look-ups.
func HasLabels(have, want map[string]string) bool {
	if reflect.ValueOf(have).UnsafePointer() == reflect.ValueOf(want).UnsafePointer() {
		return true
	}
	for k, value := range want {
		if got, ok := have[k]; !ok || got != value {
			return false
		}
	}
	return true
}

// SameLabels says whether two sets of labels, or of annotations, are equal.
// Versions of an object mostly share one, which then needs no look-ups.
func SameLabels(a, b map[string]string) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() || maps.Equal(a, b)
}

// failureReason tells by the surplus of pods what was being tried.
func failureReason(surplus int) string {
	switch {
	case surplus < 0:
		return FailedCreateReason
	case surplus > 0:
		return FailedDeleteReason
	}
	return ""
}

// ReplicaSetStatusChanged says whether a computed status has to be written:
// something in it differs from the ReplicaSet's own, or the ReplicaSet's spec
// is newer than its status. (replicaset updateReplicaSetStatus)
func ReplicaSetStatusChanged(rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) bool {
	was := &rs.Status
	return was.Replicas != status.Replicas ||
		was.FullyLabeledReplicas != status.FullyLabeledReplicas ||
		was.ReadyReplicas != status.ReadyReplicas ||
		was.AvailableReplicas != status.AvailableReplicas ||
		!ptr.Equal(was.TerminatingReplicas, status.TerminatingReplicas) ||
		rs.Generation != was.ObservedGeneration ||
		!slices.EqualFunc(was.Conditions, status.Conditions, sameReplicaSetCondition)
}

func sameReplicaSetCondition(a, b appsv1.ReplicaSetCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

// ReplicaSetCondition returns a copy of the condition of a type, nil when there
// is none. (replicaset GetCondition)
func ReplicaSetCondition(status appsv1.ReplicaSetStatus, kind appsv1.ReplicaSetConditionType) *appsv1.ReplicaSetCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return ptr.To(status.Conditions[i])
		}
	}
	return nil
}

// SetReplicaSetCondition puts a condition at the end of the list in place of
// the one of its type. One that has the same status and reason stays as it is,
// message and time included. The old list is left alone. (replicaset SetCondition)
func SetReplicaSetCondition(status *appsv1.ReplicaSetStatus, condition appsv1.ReplicaSetCondition) {
	was := ReplicaSetCondition(*status, condition.Type)
	if was != nil && was.Status == condition.Status && was.Reason == condition.Reason {
		return
	}
	RemoveReplicaSetCondition(status, condition.Type)
	status.Conditions = append(status.Conditions, condition)
}

// RemoveReplicaSetCondition takes a condition away; the old list is left alone.
// (replicaset RemoveCondition)
func RemoveReplicaSetCondition(status *appsv1.ReplicaSetStatus, kind appsv1.ReplicaSetConditionType) {
	var rest []appsv1.ReplicaSetCondition
	for _, c := range status.Conditions {
		if c.Type != kind {
			rest = append(rest, c)
		}
	}
	status.Conditions = rest
}
