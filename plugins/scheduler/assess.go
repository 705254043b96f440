package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// Assessment is what the scheduler makes of one node for one pod.
type Assessment struct {
	Node string
	// Reasons are why the node does not take the pod, in upstream's words; empty
	// when it does.
	Reasons []string
	// Unresolvable: removing pods from the node would not help.
	Unresolvable bool
	// Score is the node's total among those that take the pod: the higher, the
	// better. It is zero for all when only one does.
	Score int64
}

// Assess says how the scheduler of a release sees the nodes of a world for a pod
// that waits, in the order in which it goes through them. All nodes are scored,
// however many there are. It is the filter and score phases of upstream's
// scheduling cycle (schedule_one.go schedulePod), without the preemption.
func Assess(world sim.Reader, v rollout.Version, pod *corev1.Pod) []Assessment {
	s := over(world, v)
	return s.assess(s.read(pod))
}

// Explain is what a pod that no node of the world takes is told, with what
// preemption would do for it; empty when some node takes it. Of several nodes
// that preemption might choose it names the first.
func Explain(world sim.Reader, v rollout.Version, pod *corev1.Pod) string {
	s := over(world, v)
	p := s.read(pod)
	fits, refusals := s.search(p, "")
	if len(fits) > 0 {
		return ""
	}
	return s.explain(&entry{pod: pod, priority: schedulinghelpers.PodPriority(pod)}, p, refusals).message
}

// over is a scheduler that knows a world and does nothing.
func over(world sim.Reader, v rollout.Version) *Plugin {
	s := New(Options{})
	s.know(world, v)
	for _, obj := range world.List(sim.Nodes, "") {
		if n, ok := obj.(*corev1.Node); ok {
			s.cluster.setNode(n)
		}
	}
	for number, obj := range world.List(sim.Pods, "") {
		other, ok := obj.(*corev1.Pod)
		if ok && other.Spec.NodeName != "" && other.Status.Phase != corev1.PodSucceeded && other.Status.Phase != corev1.PodFailed {
			s.cluster.place(number, other, other.Spec.NodeName, false)
		}
	}
	return s
}

func (s *Plugin) assess(p *pending) []Assessment {
	order := s.cluster.sorted()
	out := make([]Assessment, len(order))
	var fits []feasible
	var places []int
	for i := range order {
		n := order[i].node
		out[i].Node = n.name
		if p.barred != "" {
			out[i].Reasons, out[i].Unresolvable = []string{p.barred}, true
			continue
		}
		if r, _ := s.check(p, n); r != nil {
			out[i].Reasons, out[i].Unresolvable = r.reasons, r.unresolvable
			continue
		}
		fits, places = append(fits, n.feasible()), append(places, i)
	}
	if len(fits) > 1 {
		for i, total := range s.score(p, fits) {
			out[places[i]].Score = total
		}
	}
	return out
}
