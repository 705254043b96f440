package scheduler

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cluster is what the scheduler knows of nodes and of the pods on them, its own
// choices that are not yet bound included. It is kept up to date change by
// change, so that nothing needs to look at all pods.
type cluster struct {
	nodes   map[string]*node
	order   []*node // those with a Node object, zones interleaved
	stale   bool    // order is out of date
	slots   int     // given to nodes so far
	zones   map[string]int
	pods    map[types.UID]*placed
	groups  map[groupKey]*group
	kin     map[types.UID][]*group // by owner
	averse  []*group               // those with anti-affinity of their own
	version uint64                 // counts changes, so that an answer can be reused until the next
	arrived uint64                 // numbers nodes in the order in which they came
	// needs remembers what the pods of a template ask for. They share their
	// first container, which is never changed.
	needs map[*corev1.Container]need
}

// need is what a pod asks for, and what it counts for in scores.
type need struct{ asked, scored amounts }

// node is one node with what is taken of it. Pods may name a node that has no
// object: they are counted, but nothing is placed there.
type node struct {
	name        string
	obj         *corev1.Node
	slot        int  // its place in the counts of groups
	zone        int  // its place among the zones; 0 for none
	hostname    bool // it has the label that pods are spread by
	cordoned    bool
	arrival     uint64
	allocatable amounts
	maxPods     int64
	used        amounts
	scored      amounts
	count       int64
	ports       ports
	groups      map[*group]int // pods, by group
}

// group is pods that look alike to selectors: same namespace, labels, owner
// and anti-affinity. Terms are matched once a group instead of once a pod.
type group struct {
	namespace string
	labels    map[string]string
	anti      []term        // required anti-affinity of the group's own pods
	nodes     map[*node]int // pods, by node
	live      []int         // pods not being deleted, by node slot
	liveZones []int         // and by zone
}

type groupKey struct {
	namespace, labels, anti string
	owner                   types.UID
}

// placed is a pod on a node.
type placed struct {
	node   *node
	group  *group
	asked  amounts
	scored amounts
	ports  []hostPort
	live   bool
	// assumed pods are chosen for the node but not yet seen bound to it.
	assumed bool
}

func newCluster() *cluster {
	return &cluster{nodes: map[string]*node{}, pods: map[types.UID]*placed{}, groups: map[groupKey]*group{}, kin: map[types.UID][]*group{}, zones: map[string]int{}, needs: map[*corev1.Container]need{}}
}

func (c *cluster) node(name string) *node {
	n, ok := c.nodes[name]
	if !ok {
		n = &node{name: name, slot: c.slots, ports: ports{}, groups: map[*group]int{}}
		c.slots++
		c.nodes[name] = n
	}
	return n
}

// setNode takes in a Node object that is new or changed.
func (c *cluster) setNode(obj *corev1.Node) {
	c.version++
	n := c.node(obj.Name)
	old := n.obj
	if old == nil {
		c.arrived++
		n.arrival = c.arrived
	}
	n.obj = obj
	n.moveTo(c.zoneAt(obj.Labels[corev1.LabelTopologyZone]))
	_, n.hostname = obj.Labels[corev1.LabelHostname]
	n.cordoned = obj.Spec.Unschedulable
	n.allocatable = amountsOf(obj.Status.Allocatable)
	pods := obj.Status.Allocatable[corev1.ResourcePods]
	n.maxPods = pods.Value()
	c.stale = c.stale || old == nil || zoneOf(old) != zoneOf(obj)
}

// zoneAt numbers zones from 1 on.
func (c *cluster) zoneAt(name string) int {
	if name == "" {
		return 0
	}
	at, ok := c.zones[name]
	if !ok {
		at = len(c.zones) + 1
		c.zones[name] = at
	}
	return at
}

func (c *cluster) dropNode(name string) {
	c.version++
	n := c.node(name)
	n.obj = nil
	n.moveTo(0)
	if n.count == 0 {
		delete(c.nodes, name)
	}
	c.stale = true
}

// moveTo changes the node's zone in the counts of the groups on it.
func (n *node) moveTo(zone int) {
	for g := range n.groups {
		g.liveZones = plus(g.liveZones, n.zone, -at(g.live, n.slot))
		g.liveZones = plus(g.liveZones, zone, at(g.live, n.slot))
	}
	n.zone = zone
}

// at reads a count that may not have been made yet.
func at(counts []int, i int) int {
	if i < len(counts) {
		return counts[i]
	}
	return 0
}

func plus(counts []int, i, d int) []int {
	if i >= len(counts) {
		counts = append(counts, make([]int, i+1-len(counts))...)
	}
	counts[i] += d
	return counts
}

// sorted is the nodes in the order in which they are gone through.
func (c *cluster) sorted() []*node {
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
	c.order = c.order[:0]
	for i := 0; len(c.order) < len(present); i++ {
		for _, z := range zones {
			if i < len(byZone[z]) {
				c.order = append(c.order, byZone[z][i])
			}
		}
	}
}

func zoneOf(n *corev1.Node) string {
	return n.Labels[corev1.LabelTopologyRegion] + "/" + n.Labels[corev1.LabelTopologyZone]
}

// place puts a pod on a node, or takes in a change of one that is there.
func (c *cluster) place(pod *corev1.Pod, name string, assumed bool) {
	live := pod.DeletionTimestamp == nil
	if p, ok := c.pods[pod.UID]; ok {
		if p.node.name == name && p.group == c.groupOf(pod) && p.live == live {
			p.assumed = p.assumed && assumed
			return
		}
		c.displace(pod.UID)
	}
	c.version++
	p := &placed{node: c.node(name), group: c.groupOf(pod), ports: hostPorts(pod), live: live, assumed: assumed}
	p.asked, p.scored = c.requests(pod)
	c.pods[pod.UID] = p
	p.count(1)
}

// displace takes a pod off its node; it reports whether the pod was on one.
func (c *cluster) displace(uid types.UID) bool {
	p, ok := c.pods[uid]
	if !ok {
		return false
	}
	c.version++
	delete(c.pods, uid)
	p.count(-1)
	if p.node.obj == nil && p.node.count == 0 {
		delete(c.nodes, p.node.name)
	}
	return true
}

func (p *placed) count(sign int) {
	n := p.node
	n.used.add(p.asked, int64(sign))
	n.scored.add(p.scored, int64(sign))
	n.count += int64(sign)
	for _, port := range p.ports {
		n.ports.add(port, sign)
	}
	g := p.group
	n.groups[g] += sign
	g.nodes[n] += sign
	if n.groups[g] == 0 {
		delete(n.groups, g)
		delete(g.nodes, n)
	}
	if p.live {
		g.live = plus(g.live, n.slot, sign)
		g.liveZones = plus(g.liveZones, n.zone, sign)
	}
}

// groupOf is the group of a pod.
func (c *cluster) groupOf(pod *corev1.Pod) *group {
	key := groupKey{namespace: pod.Namespace, labels: canonical(pod.Labels)}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		key.owner = ref.UID
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		key.anti = a.PodAntiAffinity.String()
	}
	g, ok := c.groups[key]
	if !ok {
		g = &group{namespace: pod.Namespace, labels: pod.Labels, nodes: map[*node]int{}}
		if key.anti != "" {
			g.anti = terms(pod, pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			c.averse = append(c.averse, g)
		}
		c.groups[key] = g
		if key.owner != "" {
			c.kin[key.owner] = append(c.kin[key.owner], g)
		}
	}
	return g
}

func canonical(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var buf [8]string
	keys := buf[:0]
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(k)
		b.WriteByte('=')
		b.WriteString(labels[k])
		b.WriteByte(',')
	}
	return b.String()
}
