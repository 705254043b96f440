package scheduler

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// nominate says that a pod waits for room on a node, or no longer does.
func (s *Plugin) nominate(e *entry, name string) {
	if e.nominated == name {
		return
	}
	if n, ok := s.cluster.nodes[e.nominated]; ok {
		n.nominated = slices.DeleteFunc(n.nominated, func(o *entry) bool { return o == e })
		n.contested = len(n.nominated) > 0
	}
	e.nominated = name
	s.cluster.version++
	if n, ok := s.cluster.nodes[name]; ok {
		n.nominated, n.contested = append(n.nominated, e), true
	}
}

// makeRoom removes the victims, the last one after all others. The pod is not
// tried again before that is done (preemption/executor.go prepareCandidateAsync).
func (s *Plugin) makeRoom(e *entry, c *candidate) {
	s.yield(e, c.node)
	victims := slices.DeleteFunc(slices.Clone(c.victims), func(v *placed) bool { return v.pod.DeletionTimestamp != nil })
	if len(victims) == 0 {
		return
	}
	e.preempting = true
	left := len(victims) - 1
	last := func() {
		s.remove(e, victims[len(victims)-1].pod, c.node.name, func() { e.preempting = false })
	}
	if left == 0 {
		last()
	}
	for _, v := range victims[:left] {
		s.remove(e, v.pod, c.node.name, func() {
			if left--; left == 0 {
				last()
			}
		})
	}
}

// yield: pods of lower priority that wait for room on the node lose it.
func (s *Plugin) yield(e *entry, n *node) {
	for _, other := range slices.Clone(n.nominated) {
		if other == e || other.priority >= e.priority {
			continue
		}
		s.nominate(other, "")
		pod := other.pod
		s.h.After(s.token()+s.h.Latency(sim.CallLatency), func() {
			latest, ok := s.unbound(pod)
			if !ok {
				return
			}
			out := *latest
			out.Status.NominatedNodeName = ""
			if _, err := s.h.UpdateStatus(&out); err != nil {
				return // the real one logs it and goes on
			}
		})
	}
}

// remove marks one victim and deletes it, two requests, and then calls done.
func (s *Plugin) remove(e *entry, victim *corev1.Pod, node string, done func()) {
	s.h.After(s.token()+s.h.Latency(sim.CallLatency), func() {
		if latest, ok := s.stored(victim); ok {
			out := *latest
			out.Status.Conditions = s.withCondition(latest, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
				Message: fmt.Sprintf("%s: preempting to accommodate a higher priority pod", e.pod.Spec.SchedulerName),
			})
			if _, err := s.h.UpdateStatus(&out); err != nil {
				s.giveUp(e)
				return
			}
		}
		s.h.After(s.token()+s.h.Latency(sim.CallLatency), func() {
			s.delete(e, victim, node)
			done()
		})
	})
}

// giveUp lets a pod be tried again although its victims are still there.
func (s *Plugin) giveUp(e *entry) {
	e.preempting = false
	if s.queue.wake(func(o *entry) bool { return o == e }, s.h.Now(), s.early(), s.h.Cause()) {
		s.pump()
	}
}

func (s *Plugin) delete(e *entry, victim *corev1.Pod, node string) {
	latest, ok := s.stored(victim)
	if !ok {
		return
	}
	if err := s.h.Delete(sim.Pods, victim.Namespace, victim.Name, metav1.DeleteOptions{}); err != nil {
		return // gone meanwhile
	}
	text := fmt.Sprintf("Preempted by pod %s on node %s", e.pod.UID, node)
	s.h.Emit(sim.RefOf(latest), trace.Evicted{By: s.Name(), Message: text})
	s.h.Event(latest, corev1.EventTypeNormal, "Preempted", text)
}

// stored is a pod as it is now, if it is still the same.
func (s *Plugin) stored(pod *corev1.Pod) (*corev1.Pod, bool) {
	obj, _ := s.h.Stored().Get(sim.Pods, pod.Namespace, pod.Name)
	latest, ok := obj.(*corev1.Pod)
	return latest, ok && latest.UID == pod.UID
}
