package observed

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Newest is the latest moment that an object tells of: about when it was written.
func Newest(obj Object) time.Time {
	var n newest
	n.see(obj.GetCreationTimestamp())
	for _, field := range obj.GetManagedFields() {
		if field.Time != nil {
			n.see(*field.Time)
		}
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		for _, c := range o.Status.Conditions {
			n.see(c.LastUpdateTime, c.LastTransitionTime)
		}
	case *appsv1.ReplicaSet:
		for _, c := range o.Status.Conditions {
			n.see(c.LastTransitionTime)
		}
	case *corev1.Node:
		for _, c := range o.Status.Conditions {
			n.see(c.LastHeartbeatTime, c.LastTransitionTime)
		}
	case *corev1.Event:
		n.see(o.LastTimestamp, metav1.NewTime(o.EventTime.Time))
	case *corev1.Pod:
		n.seePod(o)
	}
	return n.time
}

type newest struct{ time time.Time }

func (n *newest) see(times ...metav1.Time) {
	for _, t := range times {
		if t.Time.After(n.time) {
			n.time = t.UTC()
		}
	}
}

func (n *newest) seePod(pod *corev1.Pod) {
	if t := pod.DeletionTimestamp; t != nil && pod.DeletionGracePeriodSeconds != nil {
		// The timestamp is when the grace period ends, not when it began.
		n.see(metav1.NewTime(t.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)))
	}
	if pod.Status.StartTime != nil {
		n.see(*pod.Status.StartTime)
	}
	for _, c := range pod.Status.Conditions {
		n.see(c.LastTransitionTime)
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			n.seeState(list[i].State)
			n.seeState(list[i].LastTerminationState)
		}
	}
}

func (n *newest) seeState(s corev1.ContainerState) {
	if s.Running != nil {
		n.see(s.Running.StartedAt)
	}
	if s.Terminated != nil {
		n.see(s.Terminated.StartedAt, s.Terminated.FinishedAt)
	}
}
