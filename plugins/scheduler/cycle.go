package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// How many feasible nodes are enough (schedule_one.go numFeasibleNodesToFind).
const (
	enoughNodes    = 100
	leastPercent   = 5
	percentStart   = 50
	nodesToPercent = 125
)

// maxNoted bounds the reasons by node that the trace carries.
const maxNoted = 100

// likeness is what makes two pods get the same answer while nothing changes:
// the same controller and priority.
type likeness struct {
	owner    types.UID
	priority int32
}

// answer is why no node takes a pod.
type answer struct {
	version uint64 // of the cluster
	message string
	wakes   occasion
	nodes   map[string]string
}

// cycle looks for a node for one pod.
func (s *Plugin) cycle(e *entry) {
	if s.queue.byUID[e.pod.UID] != e {
		return // deleted meanwhile
	}
	like := likeness{priority: e.priority}
	if ref := metav1.GetControllerOfNoCopy(e.pod); ref != nil {
		like.owner = ref.UID
		if a, ok := s.refused[like]; ok && a.version == s.cluster.version {
			s.fail(e, a)
			return
		}
	}
	p := s.read(e.pod, like.owner)
	fits, a := s.search(p)
	if len(fits) == 0 {
		a.version = s.cluster.version
		if like.owner != "" {
			s.refused[like] = a
		}
		s.fail(e, a)
		return
	}
	s.assign(e, s.choose(p, fits))
}

// read prepares a pod for the rules.
func (s *Plugin) read(pod *corev1.Pod, owner types.UID) *pending {
	p := &pending{pod: pod, owner: owner, kin: s.cluster.kin[owner], ports: hostPorts(pod)}
	p.asked, p.scored = s.cluster.requests(pod)
	p.others = p.asked.otherNames()
	a := pod.Spec.Affinity
	p.picky = len(pod.Spec.NodeSelector) > 0 || a != nil && a.NodeAffinity != nil
	if p.picky {
		p.affinity = nodeaffinity.GetRequiredNodeAffinity(pod)
	}
	s.cluster.lookAround(p, s.namespaceLabels)
	return p
}

// namespaceLabels of a namespace without an object are those every namespace has.
func (s *Plugin) namespaceLabels(name string) map[string]string {
	if obj, ok := s.h.Cached().Get(sim.Namespaces, "", name); ok {
		return obj.GetLabels()
	}
	return map[string]string{corev1.LabelMetadataName: name}
}

// search goes through the nodes from where the last search ended until enough
// of them take the pod.
func (s *Plugin) search(p *pending) ([]*node, answer) {
	order := s.cluster.sorted()
	if len(order) == 0 {
		return nil, answer{message: "no nodes available to schedule pods", wakes: nodeAdded}
	}
	enough := enoughOf(len(order))
	fits, refusals := s.fits[:0], s.refusals[:0]
	seen := 0
	for ; seen < len(order) && len(fits) < enough; seen++ {
		at := (s.next + seen) % len(order)
		if r := s.check(p, order[at]); r != nil {
			refusals = append(refusals, verdict{order[at], r})
		} else {
			fits = append(fits, order[at])
		}
	}
	s.fits, s.refusals = fits, refusals
	s.next = (s.next + seen) % len(order)
	if len(fits) > 0 {
		return fits, answer{}
	}
	return nil, explain(refusals)
}

// verdict is a node's refusal.
type verdict struct {
	node *node
	*refusal
}

func enoughOf(nodes int) int {
	if nodes < enoughNodes {
		return nodes
	}
	percent := max(percentStart-nodes/nodesToPercent, leastPercent)
	return max(nodes*percent/100, enoughNodes)
}

// check is the first filter's refusal.
func (s *Plugin) check(p *pending, n *node) *refusal {
	for _, f := range s.filters {
		if r := f.refuses(p, n); r != nil {
			return r
		}
	}
	return nil
}

// choose takes the node with the highest score, one of them at random when
// several share it (schedule_one.go selectHost).
func (s *Plugin) choose(p *pending, fits []*node) *node {
	if len(fits) == 1 {
		return fits[0]
	}
	s.totals, s.points = slices.Grow(s.totals[:0], len(fits)), slices.Grow(s.points[:0], len(fits))
	totals, points := s.totals[:len(fits)], s.points[:len(fits)]
	clear(totals)
	for _, rule := range s.scorers {
		clear(points)
		if rule.score(p, fits, points) {
			for i := range totals {
				totals[i] += rule.weight * points[i]
			}
		}
	}
	best := slices.Max(totals)
	tied := fits[:0]
	for i, n := range fits {
		if totals[i] == best {
			tied = append(tied, n)
		}
	}
	return tied[s.h.Rand().IntN(len(tied))]
}

// assign takes the node into account at once and binds the pod a little later.
func (s *Plugin) assign(e *entry, n *node) {
	pod, name := e.pod, n.name
	s.cluster.place(pod, name, true)
	s.h.After(s.token()+s.h.Latency(sim.BindPod), func() {
		bound, err := s.h.Bind(pod, name)
		if err != nil {
			s.unassign(e)
			return
		}
		s.queue.drop(pod.UID)
		s.h.Emit(sim.RefOf(bound), trace.Scheduled{Node: name})
		s.h.Event(bound, corev1.EventTypeNormal, "Scheduled", fmt.Sprintf("Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, name))
	})
}

// unassign takes a choice back that the API server refused. A pod that is
// still there is tried again.
func (s *Plugin) unassign(e *entry) {
	if p, ok := s.cluster.pods[e.pod.UID]; ok && p.assumed {
		s.cluster.displace(e.pod.UID)
		s.wake(podGone)
	}
	if s.queue.byUID[e.pod.UID] == e {
		s.queue.retry(e, s.h.Now(), s.early())
	}
	s.pump()
}

// fail says that no node takes the pod, and sets it aside.
func (s *Plugin) fail(e *entry, a answer) {
	s.queue.park(e, a.wakes, s.h.Now(), s.early())
	if e.message == a.message {
		return // nothing new to say
	}
	e.message = a.message
	s.h.Emit(sim.RefOf(e.pod), trace.Unschedulable{Message: a.message, Nodes: a.nodes, Requests: asks(e.pod)})
	s.h.Event(e.pod, corev1.EventTypeWarning, "FailedScheduling", a.message)
	pod := e.pod
	s.h.After(s.token()+s.h.Latency(sim.CallLatency), func() { s.condition(pod, a.message) })
}

// condition publishes PodScheduled=False. The real scheduler patches it, so
// that it never conflicts; a pod bound or gone meanwhile is left alone.
func (s *Plugin) condition(pod *corev1.Pod, message string) {
	obj, ok := s.h.Stored().Get(sim.Pods, pod.Namespace, pod.Name)
	latest, isPod := obj.(*corev1.Pod)
	if !ok || !isPod || latest.UID != pod.UID || latest.Spec.NodeName != "" {
		return
	}
	out := *latest
	now := metav1.NewTime(s.h.Now())
	c := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: message, LastTransitionTime: now}
	if s.h.Version().PodGeneration() {
		c.ObservedGeneration = latest.Generation
	}
	out.Status.Conditions = slices.Clone(latest.Status.Conditions)
	at := slices.IndexFunc(out.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	if at < 0 {
		out.Status.Conditions = append(out.Status.Conditions, c)
	} else {
		if old := out.Status.Conditions[at]; old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		out.Status.Conditions[at] = c
	}
	if _, err := s.h.UpdateStatus(&out); err != nil {
		return // the real one logs it; the next failure writes again
	}
}

// explain words the refusals as the real scheduler does, with what preemption
// had to say (framework/types.go FitError.Error). No victims are sought yet:
// where removing pods might help, there is none of lower priority.
func explain(refusals []verdict) answer {
	a := answer{}
	reasons, preempt := map[string]int{}, map[string]int{}
	if len(refusals) <= maxNoted {
		a.nodes = make(map[string]string, len(refusals))
	}
	for _, r := range refusals {
		for _, text := range r.reasons {
			reasons[text]++
		}
		a.wakes |= r.wakes
		if r.unresolvable {
			preempt["Preemption is not helpful for scheduling"]++
		} else {
			preempt["No preemption victims found for incoming pod"]++
		}
		if a.nodes != nil {
			a.nodes[r.node.name] = strings.Join(r.reasons, ", ")
		}
	}
	a.wakes |= nodeAdded
	head := fmt.Sprintf("0/%d nodes are available: ", len(refusals))
	a.message = head + histogram(reasons) + ". preemption: " + head + histogram(preempt) + "."
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

// taintReason is the wording of a refusal because of a taint.
func taintReason(v rollout.Version) func(corev1.Taint) string {
	if v.CountsTaintsTogether() {
		return func(corev1.Taint) string { return "node(s) had untolerated taint(s)" }
	}
	return func(t corev1.Taint) string {
		return fmt.Sprintf("node(s) had untolerated taint {%s: %s}", t.Key, t.Value)
	}
}
