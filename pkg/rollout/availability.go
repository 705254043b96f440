package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IsPodTerminal says whether a pod's containers have ended for good: phase
// Succeeded or Failed. (api/v1/pod IsPodTerminal)
func IsPodTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsPodActive says whether a pod counts for its ReplicaSet: neither terminal
// nor asked to go. (controller.IsPodActive)
func IsPodActive(pod *corev1.Pod) bool {
	return !IsPodTerminal(pod) && pod.DeletionTimestamp == nil
}

// IsPodTerminating says whether a pod was asked to go and still runs.
// (controller.IsPodTerminating)
func IsPodTerminating(pod *corev1.Pod) bool {
	return !IsPodTerminal(pod) && pod.DeletionTimestamp != nil
}

// PodReadyCondition returns a pod's first Ready condition, nil when it has none.
// It points into the pod. (api/v1/pod GetPodReadyCondition)
func PodReadyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// IsPodReady says whether a pod's Ready condition is True. (api/v1/pod IsPodReady)
func IsPodReady(pod *corev1.Pod) bool {
	c := PodReadyCondition(pod)
	return c != nil && c.Status == corev1.ConditionTrue
}

// IsPodAvailable says whether a pod has been ready for minReadySeconds at now.
// A Ready condition without a transition time makes a pod available only when
// minReadySeconds is 0. (api/v1/pod IsPodAvailable)
func (v Version) IsPodAvailable(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	c := PodReadyCondition(pod)
	if c == nil || c.Status != corev1.ConditionTrue {
		return false
	}
	return v.availableSince(c.LastTransitionTime.Time, minReadySeconds, now)
}

// availableSince is the second half of IsPodAvailable, for a pod known to be ready.
func (v Version) availableSince(ready time.Time, minReadySeconds int32, now time.Time) bool {
	if minReadySeconds == 0 {
		return true
	}
	if ready.IsZero() {
		return false
	}
	at := ready.Add(time.Duration(minReadySeconds) * time.Second)
	if v.AvailableAtBoundary() {
		return !at.After(now)
	}
	return at.Before(now)
}

// NextAvailability says how long from now it takes until the next of the pods
// becomes available. The pod is chosen as of evaluated, the time at which the
// owner's status was computed, so that none falls between the two; when it has
// become available in the meantime the answer is 0. ok is false when no pod is
// on its way. (controller.FindMinNextPodAvailabilityCheck)
func NextAvailability(pods []*corev1.Pod, minReadySeconds int32, evaluated, now time.Time) (after time.Duration, ok bool) {
	var first *corev1.Pod
	var least time.Duration
	for _, pod := range pods {
		if d, waits := untilAvailable(pod, minReadySeconds, evaluated); waits && (first == nil || d < least) {
			first, least = pod, d
		}
	}
	if first == nil {
		return 0, false
	}
	after, _ = untilAvailable(first, minReadySeconds, now)
	return after, true
}

// untilAvailable is the time a ready pod still has to wait; false when it does
// not wait or its wait cannot be told.
func untilAvailable(pod *corev1.Pod, minReadySeconds int32, now time.Time) (time.Duration, bool) {
	c := PodReadyCondition(pod)
	if c == nil || c.Status != corev1.ConditionTrue || minReadySeconds <= 0 || c.LastTransitionTime.IsZero() {
		return 0, false
	}
	d := c.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second).Sub(now)
	if d <= 0 {
		return 0, false
	}
	return d, true
}
