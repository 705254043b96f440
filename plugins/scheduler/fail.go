package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// maxNoted bounds the reasons by node that the trace carries.
const maxNoted = 100

// answer is why no node takes a pod, and what is done about it.
type answer struct {
	version uint64 // of the cluster
	message string
	by      blockers
	nodes   map[string]string
	// preempt is the node to make room on, and the pods that must go.
	preempt *candidate
	// renounce: room that was being made elsewhere is of no use any more.
	renounce bool
}

// explain words the refusals as the real scheduler does, with what preemption
// had to say (framework/types.go FitError.Error).
func (s *Plugin) explain(e *entry, p *pending, refusals []verdict) answer {
	total := len(s.cluster.sorted())
	if total == 0 {
		return answer{message: "no nodes available to schedule pods", renounce: true}
	}
	head := fmt.Sprintf("0/%d nodes are available: ", total)
	if p.barred != "" {
		a := answer{by: 1 << volumeBindingAt, renounce: true}
		a.message = head + p.barred + ". preemption: " + head + fmt.Sprintf("%d %s.", total, unhelpful)
		return a
	}
	a := reasonsOf(refusals)
	said := s.preempt(e, p, refusals, &a)
	a.message = head + a.message + ". preemption: " + said
	return a
}

// reasonsOf counts the reasons over the nodes.
func reasonsOf(refusals []verdict) answer {
	a := answer{}
	reasons := map[string]int{}
	if len(refusals) <= maxNoted {
		a.nodes = make(map[string]string, len(refusals))
	}
	for _, r := range refusals {
		for _, text := range r.reasons {
			reasons[text]++
		}
		a.by |= 1 << r.by
		if a.nodes != nil {
			a.nodes[r.node.name] = strings.Join(r.reasons, ", ")
		}
	}
	a.message = histogram(reasons)
	return a
}

// histogram lists texts with their counts, in the order of the finished strings.
func histogram(counts map[string]int) string {
	out := make([]string, 0, len(counts))
	for text, n := range counts {
		out = append(out, fmt.Sprintf("%d %s", n, text))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// fail says that no node takes the pod, and sets it aside.
func (s *Plugin) fail(e *entry, a answer) {
	s.queue.park(e, a.by, s.h.Now(), s.early())
	s.awaitLingering()
	before := e.nominated
	switch {
	case a.preempt != nil:
		s.nominate(e, a.preempt.node.name)
		s.makeRoom(e, a.preempt)
	case a.renounce:
		s.nominate(e, "")
	}
	if e.message == a.message && e.nominated == before {
		return // nothing new to say
	}
	if e.message != a.message {
		s.h.Emit(sim.RefOf(e.pod), trace.Unschedulable{Message: a.message, Nodes: a.nodes, Requests: asks(e.pod)})
		s.h.Event(e.pod, corev1.EventTypeWarning, "FailedScheduling", truncated(a.message))
	}
	e.message = a.message
	pod, nominated := e.pod, e.nominated
	s.h.After(s.token()+s.h.Latency(sim.CallLatency), func() { s.condition(pod, a.message, nominated) })
}

// noteLimit is how long an Event's text may be, in bytes.
const noteLimit = 1024

// truncated cuts a message for an Event (schedule_one.go truncateMessage).
func truncated(message string) string {
	if len(message) <= noteLimit {
		return message
	}
	const more = " ..."
	return message[:noteLimit-len(more)] + more
}

// condition publishes PodScheduled=False and the nomination. The real scheduler
// patches them, so that it never conflicts; a pod bound or gone meanwhile is
// left alone.
func (s *Plugin) condition(pod *corev1.Pod, message, nominated string) {
	latest, ok := s.unbound(pod)
	if !ok {
		return
	}
	out := *latest
	out.Status.NominatedNodeName = nominated
	c := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}
	out.Status.Conditions = s.withCondition(latest, c)
	if _, err := s.h.UpdateStatus(&out); err != nil {
		return // the real one logs it; the next failure writes again
	}
}

// unbound is a pod as stored, if it still waits for a node.
func (s *Plugin) unbound(pod *corev1.Pod) (*corev1.Pod, bool) {
	obj, _ := s.h.Stored().Get(sim.Pods, pod.Namespace, pod.Name)
	latest, ok := obj.(*corev1.Pod)
	return latest, ok && latest.UID == pod.UID && latest.Spec.NodeName == ""
}

// withCondition is a pod's conditions with one set.
func (s *Plugin) withCondition(pod *corev1.Pod, c corev1.PodCondition) []corev1.PodCondition {
	c.LastTransitionTime = metav1.NewTime(s.h.Now())
	if s.h.Version().PodGeneration() {
		c.ObservedGeneration = pod.Generation
	}
	out := slices.Clone(pod.Status.Conditions)
	at := slices.IndexFunc(out, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	if at < 0 {
		return append(out, c)
	}
	if out[at].Status == c.Status {
		c.LastTransitionTime = out[at].LastTransitionTime
	}
	out[at] = c
	return out
}
