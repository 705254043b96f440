package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// evictionGrace is what a pod gets when its node runs out of something, in
// seconds (eviction_manager.go immediateEvictionGracePeriodSeconds).
const evictionGrace = 1

// evict throws a pod out for its node's sake (eviction_manager.go evictPod): its
// containers are stopped, then it is Failed. Its object stays.
func (k *Plugin) evict(l *life, act Act) {
	pod, ok := k.latest(l)
	if !ok {
		return
	}
	short := act.Reason
	if short == "" {
		short = string(corev1.ResourceMemory)
	}
	message := act.Message
	if message == "" {
		message = fmt.Sprintf("The node was low on resource: %s. ", short)
	}
	k.h.EmitOn(l.node, sim.RefOf(pod), trace.Evicted{By: k.Name(), Message: message})
	k.h.Event(pod, corev1.EventTypeWarning, "Evicted", message)
	k.h.Stop(l.starting)
	k.h.Stop(l.readying)
	l.exitFor = l.profile.ExitAfter.draw(k.h.Rand())
	var end stop
	if l.crew != nil {
		end = l.crew.stop(evictionGrace)
	} else {
		end = l.ending(pod, evictionGrace)
	}
	began := k.h.Now()
	l.starting = k.h.After(end.after+k.h.Latency(sim.RemovePod), func() {
		s := state{phase: corev1.PodFailed, exitCode: end.code, restarts: l.was.restarts}
		if l.crew != nil {
			s = l.crew.finish(began)
			s.phase = corev1.PodFailed
		}
		s.reason, s.note, s.disrupted = "Evicted", message, k.h.Version().DisruptionConditions()
		k.leave(l)
		k.set(l, s)
	})
}

// disruption adds the condition of a pod that its kubelet threw out.
func disruption(have []corev1.PodCondition, message string, at metav1.Time, observed int64) []corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, ObservedGeneration: observed,
		LastTransitionTime: at, Reason: corev1.PodReasonTerminationByKubelet, Message: message}
	out := make([]corev1.PodCondition, 0, len(have)+1)
	for _, old := range have {
		if old.Type != c.Type {
			out = append(out, old)
		}
	}
	return append(out, c)
}
