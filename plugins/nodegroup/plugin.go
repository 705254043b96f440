// Package nodegroup is a cluster autoscaler as far as it adds nodes: where pods
// wait that no node takes, it orders as many nodes of its groups as would take
// them, which join a while later. It takes no node away.
package nodegroup

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Actor is the plugin's name in the trace.
const Actor = "nodegroup"

// scanInterval is how often pods that wait are looked for (cluster-autoscaler --scan-interval).
const scanInterval = 10 * time.Second

// Group is like nodes, of which there may be more.
type Group struct {
	Name string
	// Node makes a node of the group, before it is one of the world's; an error
	// when the group's model is not there.
	Node func(world sim.Reader, name string) (*corev1.Node, error)
	// Max is how many nodes it may add.
	Max int
	// Delay is from the decision until a node has joined and is ready.
	Delay time.Duration
}

// Assess names the nodes of a world that would take a pod, as the scheduler of a release sees it.
type Assess func(world sim.Reader, v rollout.Version, pod *corev1.Pod) []string

// Plugin is the autoscaler.
type Plugin struct {
	h      *sim.Hands
	groups []*group
	takers Assess
	start  time.Time
	origin time.Time // scans are whole intervals from here
	next   *sim.Timer
	errs   []error
}

type group struct {
	Group
	added  int
	coming []*corev1.Node // ordered, and not yet seen ready
}

// New makes the plugin. Start is the date of virtual time zero, before which no
// node is ordered.
func New(start time.Time, takers Assess, groups ...Group) *Plugin {
	p := &Plugin{start: start, takers: takers}
	for _, g := range groups {
		p.groups = append(p.groups, &group{Group: g})
	}
	return p
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return Actor }

// Err is what kept nodes from being ordered, nil when nothing did.
func (p *Plugin) Err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return p.errs[0]
}

// Start watches pods, and looks once at those that wait already.
func (p *Plugin) Start(h *sim.Hands) {
	p.h, p.origin = h, p.start
	if !h.Instant() {
		p.origin = p.origin.Add(time.Duration(h.Rand().Int64N(int64(scanInterval))))
	}
	h.Follow(sim.Pods, func(c engine.Change, _ int) {
		if pod, ok := c.New.(*corev1.Pod); ok && c.Verb != engine.Deleted && waits(pod) {
			p.wake()
		}
	})
	p.wake()
}

// waits says that the scheduler has found no node for a pod.
func waits(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// wake sees to it that there is another scan.
func (p *Plugin) wake() {
	if p.next != nil {
		return
	}
	now := p.h.Now()
	at := p.origin
	if late := now.Sub(at); late > 0 {
		at = at.Add((late + scanInterval - 1) / scanInterval * scanInterval)
	}
	if p.h.Instant() && now.After(p.start) {
		at = now
	}
	p.next = p.h.After(at.Sub(now), p.scan)
}

// scan orders nodes for the pods that wait, in order of their creation. Nodes
// that are on their way count as there, so that none is ordered twice.
func (p *Plugin) scan() {
	p.next = nil
	if p.h.Settling() {
		p.next = p.h.After(time.Nanosecond, p.scan)
		return
	}
	sky := p.sky()
	orders := map[*group]*order{}
	hopeless := map[types.UID]bool{} // owners of pods that no group takes
	again := false                   // whether a place that is free may be taken by others
	for _, obj := range p.h.Stored().List(sim.Pods, "") {
		pod, ok := obj.(*corev1.Pod)
		if !ok || !waits(pod) || hopeless[ownerOf(pod)] {
			continue
		}
		on := p.provide(sky, pod, orders)
		if on == "" {
			hopeless[ownerOf(pod)] = true
		}
		again = again || on != "" && !sky.isNew(on)
	}
	for _, g := range p.groups {
		if o := orders[g]; o != nil {
			p.send(g, o)
		}
	}
	if again {
		p.next = p.h.After(scanInterval, p.scan)
	}
}

func ownerOf(pod *corev1.Pod) types.UID {
	if c := metav1.GetControllerOfNoCopy(pod); c != nil {
		return c.UID
	}
	return pod.UID
}

// order is nodes that a group is to add, and the pods they are for.
type order struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

// provide finds a place for a pod: on a node that is there, where the scheduler
// will see to it, on one that is on its way, or on one that it orders. The place
// is taken then. It returns the node, "" when there is none.
func (p *Plugin) provide(sky *overlay, pod *corev1.Pod, orders map[*group]*order) string {
	takers := p.takers(sky, p.h.Version(), pod)
	if len(takers) > 0 {
		there := slices.IndexFunc(takers, func(name string) bool { return !sky.isNew(name) })
		on := takers[max(0, there)]
		sky.place(pod, on)
		return on
	}
	for _, g := range p.groups {
		o := orders[g]
		if o == nil {
			o = &order{}
		}
		if g.added+len(o.nodes) >= g.Max {
			continue
		}
		node, err := g.Node(p.h.Stored(), g.Name+"-"+strconv.Itoa(g.added+len(o.nodes)+1))
		if err != nil {
			p.errs = append(p.errs, fmt.Errorf("node group %s: %w", g.Name, err))
			continue
		}
		sky.add(node)
		if !slices.Contains(p.takers(sky, p.h.Version(), pod), node.Name) {
			sky.remove(node)
			continue
		}
		sky.place(pod, node.Name)
		o.nodes, o.pods = append(o.nodes, node), append(o.pods, pod)
		orders[g] = o
		return node.Name
	}
	return ""
}

// send places an order, with cluster-autoscaler's Event for the pods it is for.
func (p *Plugin) send(g *group, o *order) {
	from, to := g.added, g.added+len(o.nodes)
	g.added, g.coming = to, append(g.coming, o.nodes...)
	cause := p.h.Emit(trace.Ref{Kind: "NodeGroup", Name: g.Name}, trace.Changed{
		Verb: "scale-up", Fields: []trace.Field{{Path: "nodes", From: strconv.Itoa(from), To: strconv.Itoa(to)}},
	})
	p.h.Under(cause, func() {
		for _, pod := range o.pods {
			p.h.Event(pod, corev1.EventTypeNormal, "TriggeredScaleUp", fmt.Sprintf("pod triggered scale-up: [{%s %d->%d (max: %d)}]", g.Name, from, to, g.Max))
		}
		p.h.After(g.Delay, func() { p.join(o.nodes) })
	})
}

// join lets nodes register. Pods that still find no room are looked at again.
func (p *Plugin) join(nodes []*corev1.Node) {
	for _, node := range nodes {
		p.h.Under(p.h.Emit(sim.RefOf(node), trace.Changed{Verb: "create"}), func() {
			if _, err := p.h.Create(node.DeepCopy()); err != nil {
				p.errs = append(p.errs, err)
			}
		})
	}
	p.wake()
}
