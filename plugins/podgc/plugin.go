// Package podgc is the pod garbage collector: it removes pods that no kubelet
// will ever finish, those of nodes that are gone or out of service, and ended
// pods when there are too many (upstream pkg/controller/podgc).
//
// Its rounds are made only while there may be such pods.
package podgc

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The controller's times (gc_controller.go) and the controller manager's
// default for --terminated-pod-gc-threshold.
const (
	period        = 20 * time.Second
	quarantine    = 40 * time.Second
	maxTerminated = 12500
	// roundTime is what a round takes; the next is timed from its end.
	roundTime = time.Millisecond
)

// Plugin is the pod garbage collector.
type Plugin struct {
	h          *sim.Hands
	origin     time.Time // when one of its rounds is due
	next       *sim.Timer
	terminated int // pods that have ended and are still there, as far as is known
	// missing is when the quarantine of a node that pods name and nobody has ends.
	missing map[string]time.Time
	// asked are pods whose deletion went through but that something holds.
	asked map[types.UID]bool
	// causes are the events by which nodes went.
	causes map[string]trace.Seq
}

// New makes the collector.
func New() *Plugin {
	return &Plugin{missing: map[string]time.Time{}, asked: map[types.UID]bool{}, causes: map[string]trace.Seq{}}
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "podgc" }

// Start watches nodes and looks for pods whose nodes are unknown.
func (p *Plugin) Start(h *sim.Hands) {
	p.h, p.origin = h, h.Now()
	if !h.Instant() {
		p.origin = p.origin.Add(time.Duration(h.Rand().Int64N(int64(period))))
	}
	for _, obj := range h.Stored().List(sim.Pods, "") {
		if pod, ok := obj.(*corev1.Pod); ok {
			p.found(pod)
		}
	}
	h.Watch(sim.Nodes, p.observe)
}

func (p *Plugin) found(pod *corev1.Pod) {
	if isTerminated(pod) {
		p.terminated++
	}
	if pod.Spec.NodeName != "" && !p.nodeThere(pod.Spec.NodeName) || p.terminated > maxTerminated {
		p.wake()
	}
}

func (p *Plugin) nodeThere(name string) bool {
	_, ok := p.h.Stored().Get(sim.Nodes, "", name)
	return ok
}

func (p *Plugin) observe(c engine.Change) {
	node, ok := c.New.(*corev1.Node)
	if !ok {
		return
	}
	if c.Verb == engine.Deleted {
		p.causes[node.Name] = p.h.Cause()
		p.wake()
		return
	}
	delete(p.causes, node.Name)
	if outOfService(node) {
		p.causes[node.Name] = p.h.Cause()
		p.wake()
	}
}

// Mutate changes nothing.
func (p *Plugin) Mutate(*sim.Request) error { return nil }

// Validate refuses nothing. It counts the pods that end, so that the collector
// need not follow all pods for the day on which there are too many.
func (p *Plugin) Validate(req *sim.Request) error {
	if req.Resource != sim.Pods || req.Subresource != "status" {
		return nil
	}
	is, ok := req.New.(*corev1.Pod)
	if was, old := req.Old.(*corev1.Pod); ok && old && isTerminated(is) && !isTerminated(was) {
		if p.terminated++; p.terminated > maxTerminated && p.h != nil {
			p.wake()
		}
	}
	return nil
}

// wake sees to it that there is another round.
func (p *Plugin) wake() {
	if p.next != nil {
		return
	}
	wait := p.origin.Sub(p.h.Now()) % period
	if wait < 0 {
		wait += period
	}
	p.next = p.h.After(wait, p.round)
}

// isTerminated is upstream's own word for pods that have ended.
func isTerminated(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown, "":
		return false
	}
	return true
}

// outOfService nodes were said to be dead for good by a person's taint.
func outOfService(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	for _, t := range node.Spec.Taints {
		if t.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	return false
}
