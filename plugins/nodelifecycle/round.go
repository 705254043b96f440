package nodelifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// round is one look at all nodes. It lasts until its writes are done.
type round struct {
	p     *Plugin
	nodes []*corev1.Node
	ready map[string][]bool // the nodes' conditions by zone
	left  int               // writes that are not done
}

// round looks at every node (monitorNodeHealth).
func (p *Plugin) round() {
	p.next, p.latest, p.inRound = nil, p.h.Now(), true
	r := &round{p: p, ready: map[string][]bool{}, left: 1}
	for _, obj := range p.h.Cached().List(sim.Nodes, "") {
		if node, ok := obj.(*corev1.Node); ok {
			r.nodes = append(r.nodes, node)
		}
	}
	p.classify(r.nodes)
	for _, node := range r.nodes {
		r.look(node)
	}
	r.done()
}

// classify notes the nodes that came and went.
func (p *Plugin) classify(nodes []*corev1.Node) {
	now := p.h.Now()
	here := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		here[node.Name] = true
		p.zones.add(node, now)
		if p.known[node.Name] == nil {
			p.tell(node, "RegisteredNode", fmt.Sprintf("Registered Node %s in Controller", node.Name))
			p.known[node.Name] = node
			p.markReachable(node)
		}
	}
	var gone []*corev1.Node
	for name, node := range p.known {
		if !here[name] {
			gone = append(gone, node)
		}
	}
	slices.SortFunc(gone, func(a, b *corev1.Node) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for _, node := range gone {
		p.tell(node, "RemovingNode", fmt.Sprintf("Removing Node %s from Controller", node.Name))
		delete(p.known, node.Name)
	}
}

// tell records an Event of the controller's about a node (RecordNodeEvent).
func (p *Plugin) tell(node *corev1.Node, reason, message string) {
	p.h.Event(node, corev1.EventTypeNormal, reason, fmt.Sprintf("Node %s event: %s", node.Name, message))
}

// look checks one node, and gives it up when it has been silent for too long.
func (r *round) look(node *corev1.Node) {
	p, was := r.p, r.p.ready(node)
	s := p.silent[node.Name]
	if s == nil || statusOf(node, corev1.NodeReady) == corev1.ConditionUnknown || !p.h.Now().After(s.probe.Add(p.grace(node))) {
		r.judge(node, was, was)
		return
	}
	r.left++
	p.calls.add(func() {
		p.h.Under(s.cause, func() {
			if given, ok := p.giveUp(node); ok {
				if was {
					s.cause = p.h.Emit(nodeRef(node.Name), trace.Recorded{EventType: corev1.EventTypeNormal, Reason: "NodeNotReady",
						Message: fmt.Sprintf("Node %s status is now: NodeNotReady", node.Name)})
				}
				p.h.Under(s.cause, func() { r.judge(given, was, false) })
			}
		})
		r.done()
	})
}

func (p *Plugin) grace(node *corev1.Node) time.Duration {
	if statusOf(node, corev1.NodeReady) == "" {
		return startupGrace
	}
	return p.h.Version().NodeMonitorGrace()
}

// givenUp are the conditions that a kubelet vouches for (tryUpdateNodeHealth).
var givenUp = []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}

// giveUp publishes that nothing is known of a node any more.
func (p *Plugin) giveUp(node *corev1.Node) (*corev1.Node, bool) {
	latest, ok := p.stored(node.Name)
	if !ok {
		return nil, false
	}
	out := *latest
	out.Status.Conditions = slices.Clone(latest.Status.Conditions)
	now := metav1.NewTime(p.h.Now().Truncate(time.Second))
	for _, kind := range givenUp {
		i := slices.IndexFunc(out.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
		if i < 0 {
			out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionUnknown, Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: now,
			})
			continue
		}
		if c := &out.Status.Conditions[i]; c.Status != corev1.ConditionUnknown {
			c.Status, c.LastTransitionTime = corev1.ConditionUnknown, now
			c.Reason, c.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
		}
	}
	stored, err := p.h.UpdateStatus(&out)
	if err != nil {
		p.again = true
		return nil, false
	}
	return stored.(*corev1.Node), true
}

func (p *Plugin) stored(name string) (*corev1.Node, bool) {
	obj, ok := p.h.Stored().Get(sim.Nodes, "", name)
	if !ok {
		return nil, false
	}
	node, ok := obj.(*corev1.Node)
	return node, ok
}

// excluded nodes have no say in their zone's state (isNodeExcludedFromDisruptionChecks).
const excluded = "node.kubernetes.io/exclude-disruption"

// judge counts a node for its zone, sees to its taints and marks its pods when
// it was given up in this round.
func (r *round) judge(node *corev1.Node, was, is bool) {
	p := r.p
	if _, out := node.Labels[excluded]; !out {
		zone := zoneOf(node)
		r.ready[zone] = append(r.ready[zone], is)
	}
	switch {
	case is:
		p.markReachable(node)
	case statusOf(node, corev1.NodeReady) != "":
		p.markForTainting(node)
	}
	if !is && (was || p.retry[node.Name]) {
		delete(p.retry, node.Name)
		r.left++
		p.markPods(p.podsOn(node.Name), node.Name, r.done)
	}
}

// done ends the round after its last write.
func (r *round) done() {
	if r.left--; r.left > 0 {
		return
	}
	p := r.p
	p.zones.disrupt(p, r)
	p.inRound = false
	if p.again || p.pending() {
		p.again = false
		p.next = p.h.After(monitorPeriod+roundTime, p.round)
	}
}

// pending: a later round will find what this one could not.
func (p *Plugin) pending() bool {
	if len(p.retry) > 0 {
		return true
	}
	for name := range p.silent {
		if node, ok := p.stored(name); ok && statusOf(node, corev1.NodeReady) != corev1.ConditionUnknown {
			return true
		}
	}
	return false
}
