package scheduler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// cluster is what the scheduler knows of nodes and of the pods on them, its own
// choices that are not yet bound included. It is kept up to date change by
// change, so that nothing needs to look at all pods.
type cluster struct {
	world      sim.Reader // all other objects
	nodes      map[string]*node
	order      []spot // of the nodes with a Node object, zones interleaved
	stale      bool   // order is out of date
	slots      int    // given to nodes so far
	pods       sim.Known[placed]
	groups     map[groupKey]*group
	all        []*group // in the order in which they came
	recent     map[*corev1.Container]*group
	topologies map[topologyID]*topology
	outlooks   []*outlook
	images     map[string]*image
	claims     map[string]int // pods on nodes, by the claim they use
	ranks      map[int32]int  // pods on nodes, by priority
	version    uint64         // counts changes, so that an answer can be reused until the next
	arrived    uint64         // numbers nodes in the order in which they came
	// needs remembers what the pods of a template ask for. They share their
	// first container, which is never changed.
	needs map[*corev1.Container]*need
	// cordoned, hard and soft count the nodes that are barred so.
	cordoned, hard, soft int
}

// node is one node with what is taken of it. Pods may name a node that has no
// object: they are counted, but nothing is placed there.
type node struct {
	*spot
	own spot // where it stands as long as it is not in the order
	bars
	name        string
	obj         *corev1.Node
	arrival     uint64
	allocatable amounts
	maxPods     int64
	used        amounts
	scored      amounts
	count       int64
	ports       ports
	groups      map[*group]int // pods, by group
	pods        []*placed
	images      []string
	nominated   []*entry // pods that wait for others to make room for them here
}

// spot is what each search and each score read of a node. Those of an order lie
// side by side, since hundreds of them are read for a pod.
type spot struct {
	node      *node
	room      appraisal
	slot      int  // the node's place in the counts of groups
	contested bool // the node has nominated pods
}

// bars are what keeps pods off a node: a cordon and hard taints, or, if other
// nodes take them, soft taints.
type bars struct{ cordoned, hard, soft bool }

func barsOf(obj *corev1.Node) (b bars) {
	if obj == nil {
		return b
	}
	b.cordoned = obj.Spec.Unschedulable
	for i := range obj.Spec.Taints {
		switch obj.Spec.Taints[i].Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute:
			b.hard = true
		case corev1.TaintEffectPreferNoSchedule:
			b.soft = true
		}
	}
	return b
}

// bar counts a node among those that are barred, or no longer.
func (c *cluster) bar(b bars, sign int) {
	if b.cordoned {
		c.cordoned += sign
	}
	if b.hard {
		c.hard += sign
	}
	if b.soft {
		c.soft += sign
	}
}

// placed is a pod on a node.
type placed struct {
	number int
	pod    *corev1.Pod
	node   *node
	group  *group
	need   *need
	ports  []hostPort
	claims []string
	live   bool
	// assumed pods are chosen for the node but not yet seen bound to it.
	assumed bool
	index   int // in the node's pods
}

func newCluster(world sim.Reader) *cluster {
	return &cluster{
		world: world, nodes: map[string]*node{}, groups: map[groupKey]*group{},
		recent: map[*corev1.Container]*group{}, topologies: map[topologyID]*topology{}, images: map[string]*image{},
		claims: map[string]int{}, ranks: map[int32]int{}, needs: map[*corev1.Container]*need{},
	}
}

func (c *cluster) node(name string) *node {
	n, ok := c.nodes[name]
	if ok {
		return n
	}
	n = &node{name: name, ports: ports{}, groups: map[*group]int{}}
	n.own = spot{node: n, slot: c.slots}
	n.spot = &n.own
	c.slots++
	c.nodes[name] = n
	for _, t := range c.topologies {
		t.of = append(t.of, nowhere)
	}
	c.eachRule(func(_ *outlook, r *rule) {
		if r.counted != nil {
			r.counted = append(r.counted, false)
		}
	})
	return n
}

func (c *cluster) eachRule(do func(*outlook, *rule)) {
	for _, o := range c.outlooks {
		for _, r := range o.hard {
			do(o, r)
		}
		for _, r := range o.soft {
			do(o, r)
		}
	}
}

// setNode takes in a Node object that is new or changed.
func (c *cluster) setNode(obj *corev1.Node) {
	n := c.node(obj.Name)
	old := n.obj
	if old == nil {
		c.arrived++
		n.arrival = c.arrived
	}
	c.turn(n, obj)
	n.room = appraisal{}
	n.allocatable = amountsOf(obj.Status.Allocatable)
	pods := obj.Status.Allocatable[corev1.ResourcePods]
	n.maxPods = pods.Value()
	c.stale = c.stale || old == nil || zoneOf(old) != zoneOf(obj)
}

func (c *cluster) dropNode(name string) {
	n := c.node(name)
	c.turn(n, nil)
	c.stale = true
	c.discard(n)
}

// discard forgets a node that has neither an object nor pods.
func (c *cluster) discard(n *node) {
	if n.obj == nil && n.count == 0 {
		delete(c.nodes, n.name)
	}
}

// turn gives a node another object: its pods move to its new places.
func (c *cluster) turn(n *node, obj *corev1.Node) {
	c.version++
	c.contribute(n, -1)
	c.eachRule(func(_ *outlook, r *rule) { r.domain(n, -1) })
	c.dropImages(n)
	c.bar(n.bars, -1)
	n.obj, n.bars = obj, barsOf(obj)
	c.bar(n.bars, 1)
	for _, t := range c.topologies {
		t.locate(n)
	}
	for _, o := range c.outlooks {
		o.regard(n)
	}
	c.addImages(n)
	c.contribute(n, 1)
}

// contribute adds the node's pods to what they count in, or takes them out.
func (c *cluster) contribute(n *node, sign int) {
	for g, pods := range n.groups {
		g.count(n, sign*pods, sign*at(g.live, n.slot))
	}
}

// sorted is the nodes in the order in which they are gone through.
func (c *cluster) sorted() []spot {
	if c.stale {
		c.interleave()
		c.stale = false
	}
	return c.order
}

// interleave orders the nodes as the real scheduler goes through them: by zone
// in turns (backend/cache/node_tree.go).
func (c *cluster) interleave() {
	present := slices.Collect(maps.Values(c.nodes))
	present = slices.DeleteFunc(present, func(n *node) bool { return n.obj == nil })
	slices.SortFunc(present, func(a, b *node) int { return int(int64(a.arrival) - int64(b.arrival)) })
	var zones []string
	byZone := map[string][]*node{}
	for _, n := range present {
		z := zoneOf(n.obj)
		if byZone[z] == nil {
			zones = append(zones, z)
		}
		byZone[z] = append(byZone[z], n)
	}
	for i := range c.order {
		c.order[i].node.leave()
	}
	c.order = make([]spot, 0, len(present))
	for i := 0; len(c.order) < len(present); i++ {
		for _, z := range zones {
			if i < len(byZone[z]) {
				n := byZone[z][i]
				c.order = append(c.order, *n.spot)
				n.spot = &c.order[len(c.order)-1]
			}
		}
	}
}

// leave has a node stand by itself, in no order.
func (n *node) leave() {
	n.own = *n.spot
	n.spot = &n.own
}
