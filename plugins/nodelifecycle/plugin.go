// Package nodelifecycle is the controller that notices nodes whose kubelets have
// fallen silent: it marks them and their pods as not ready and taints them, at
// the pace that their zone allows (upstream pkg/controller/nodelifecycle).
//
// Heartbeats are not simulated one by one. A kubelet renews its lease every ten
// seconds, so that only a node that has fallen silent can ever be overdue, and
// the controller's rounds are made only while there is something to notice.
package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The controller manager's defaults (cmd/kube-controller-manager,
// NodeLifecycleController options) and the kubelet's.
const (
	monitorPeriod = 5 * time.Second
	startupGrace  = 60 * time.Second
	heartbeat     = 10 * time.Second
	// roundTime is what a round takes. The next is timed from its end, so that
	// the tenth after a heartbeat comes a little more than fifty seconds after it.
	roundTime = time.Millisecond
)

// Plugin is the node lifecycle controller.
type Plugin struct {
	h       *sim.Hands
	origin  time.Time // when one of its rounds is due; others are so many periods off
	silent  map[string]*silence
	known   map[string]*corev1.Node
	zones   zones
	calls   calls
	retry   map[string]bool // nodes whose pods could not all be marked
	next    *sim.Timer      // the next round; nil while asleep or in a round
	latest  time.Time       // when the last one began
	inRound bool
	again   bool // something changed during a round
	// podsFrom is since when pods are watched; zero while they are not.
	podsFrom time.Time
}

// silence is a kubelet that does not answer.
type silence struct {
	last  time.Time // its last heartbeat
	probe time.Time // when the controller saw that, or forgave it
	cause trace.Seq // the event that what comes next follows from
}

// New makes the controller.
func New() *Plugin {
	return &Plugin{silent: map[string]*silence{}, known: map[string]*corev1.Node{}, retry: map[string]bool{}}
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "nodelifecycle" }

// Start watches nodes. Those that are there have been known for long.
func (p *Plugin) Start(h *sim.Hands) {
	p.h, p.origin, p.calls.h = h, h.Now(), h
	if !h.Instant() {
		p.origin = p.origin.Add(time.Duration(h.Rand().Int64N(int64(monitorPeriod))))
	}
	for _, obj := range h.Stored().List(sim.Nodes, "") {
		if node, ok := obj.(*corev1.Node); ok {
			p.known[node.Name] = node
			p.zones.add(node, h.Now())
		}
	}
	h.Watch(sim.Nodes, p.observe)
}

// Lost says that a node's kubelet has stopped, now. Where calls take no time
// its last heartbeat was at this moment, elsewhere up to a period ago.
func (p *Plugin) Lost(name string) {
	if p.silent[name] != nil {
		return
	}
	s := &silence{last: p.h.Now(), cause: p.h.Cause()}
	if !p.h.Instant() {
		s.last = s.last.Add(-time.Duration(p.h.Rand().Int64N(int64(heartbeat))))
	}
	s.probe = p.roundAfter(s.last)
	p.silent[name] = s
	p.h.After(s.last.Add(heartbeat).Sub(p.h.Now()), func() { p.miss(name, s) })
	p.watchPods()
	p.wake()
}

// miss is the moment in which the first heartbeat does not come.
func (p *Plugin) miss(name string, s *silence) {
	if p.silent[name] == s {
		s.cause = p.h.Emit(nodeRef(name), trace.Heartbeat{State: "Missed"})
	}
}

// Back says that a node's kubelet renews its lease again.
func (p *Plugin) Back(name string) {
	delete(p.silent, name)
	p.wake()
}

func nodeRef(name string) trace.Ref { return trace.Ref{Kind: "Node", Name: name} }

func (p *Plugin) observe(c engine.Change) {
	node, ok := c.New.(*corev1.Node)
	if !ok {
		return
	}
	if c.Verb == engine.Deleted {
		delete(p.retry, node.Name)
		p.wake()
		return
	}
	p.reconcileNoSchedule(node)
	if _, known := p.known[node.Name]; known && p.well(node) {
		if old, ok := c.Old.(*corev1.Node); !ok || p.well(old) {
			return
		}
	}
	if statusOf(node, corev1.NodeReady) == corev1.ConditionUnknown && p.silent[node.Name] == nil && c.Verb == engine.Added {
		p.silent[node.Name] = &silence{cause: p.h.Cause()}
	}
	p.watchPods()
	p.wake()
}

// well: there is nothing for a round to do about a node.
func (p *Plugin) well(node *corev1.Node) bool {
	return p.ready(node) && !tainted(node, notReady) && !tainted(node, unreachable)
}

// ready is the node's condition. One that was never published is taken for true
// while the kubelet answers, since it would publish it.
func (p *Plugin) ready(node *corev1.Node) bool {
	status := statusOf(node, corev1.NodeReady)
	return status == corev1.ConditionTrue || status == "" && p.silent[node.Name] == nil
}

func statusOf(node *corev1.Node, t corev1.NodeConditionType) corev1.ConditionStatus {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == t {
			return node.Status.Conditions[i].Status
		}
	}
	return ""
}

// wake sees to it that there is another round.
func (p *Plugin) wake() {
	switch {
	case p.inRound:
		p.again = true
	case p.next == nil:
		at := p.roundAfter(p.h.Now())
		if at.Equal(p.latest) {
			at = at.Add(monitorPeriod)
		}
		p.next = p.h.After(at.Sub(p.h.Now()), p.round)
	}
}

// roundAfter is the first round at or after a time.
func (p *Plugin) roundAfter(t time.Time) time.Time {
	since := t.Sub(p.origin) % monitorPeriod
	switch {
	case since > 0:
		return t.Add(monitorPeriod - since)
	case since < 0:
		return t.Add(-since)
	}
	return t
}
