package live

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The actors that throw pods out, called as in a plan.
const (
	actorTaints   = "tainteviction"
	actorEviction = "eviction" // by way of the eviction API: a drain, an autoscaler
	actorPodGC    = "podgc"
)

// announced is who threw a pod out, and in what words.
type announced struct{ by, message string }

// disruptors are the actors behind the reasons of a DisruptionTarget condition.
// Source: k8s.io/api core/v1 PodReason…, and podgc, tainteviction, preemption.
var disruptors = map[string]string{
	corev1.PodReasonPreemptionByScheduler: trace.ActorScheduler, corev1.PodReasonTerminationByKubelet: trace.ActorKubelet,
	"DeletionByTaintManager": actorTaints, "EvictionByEvictionAPI": actorEviction, "DeletionByPodGC": actorPodGC,
}

// thrownOut is who threw a pod out; empty when nothing says so. A pod that had
// ended was thrown out before: its removal now says nothing of that.
func (f *Follower) thrownOut(pod, old *corev1.Pod) announced {
	if rollout.IsPodTerminal(old) {
		return announced{}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return announced{f.disruptor(pod, c.Reason), c.Message}
		}
	}
	return f.warned[pod.UID]
}

// disruptor is who set a DisruptionTarget condition; where its reason is not
// one of Kubernetes' own, the record of who wrote the status tells.
func (f *Follower) disruptor(pod *corev1.Pod, reason string) string {
	if by := disruptors[reason]; by != "" {
		return by
	}
	for _, entry := range pod.ManagedFields {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `k:{\"type\":\"DisruptionTarget\"}`) {
			return entry.Manager
		}
	}
	return actorSomeone
}

// announce notes an Event that says that a pod is thrown out, as servers
// without the condition and its writers tell it.
func (f *Follower) announce(e *corev1.Event) {
	switch {
	case e.Reason == "TaintManagerEviction" && strings.HasPrefix(e.Message, "Marking for deletion"):
		f.warned[e.InvolvedObject.UID] = announced{actorTaints, e.Message}
	case e.Reason == "TaintManagerEviction":
		delete(f.warned, e.InvolvedObject.UID)
	case e.Reason == "Preempted":
		f.warned[e.InvolvedObject.UID] = announced{trace.ActorScheduler, e.Message}
	}
}

// orphaned reports whether a pod's ReplicaSet is gone, or goes with all it has.
func (f *Follower) orphaned(pod *corev1.Pod) bool {
	rs := f.sets[setRef(pod)]
	return rs == nil || rs.DeletionTimestamp != nil || !metav1.IsControlledBy(pod, rs)
}
