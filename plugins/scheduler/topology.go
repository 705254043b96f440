package scheduler

import corev1 "k8s.io/api/core/v1"

// topology is the places into which a node label divides the nodes, numbered
// in the order in which their values were met.
type topology struct {
	key string
	ids map[string]int // place by value
	of  []int          // place by node slot; nowhere for nodes without the label
	// located is how many nodes have the label.
	located int
	// each: every node that has the label is a place of its own, whatever the value.
	each bool
}

const nowhere = -1

// topology finds or makes the division by a label.
func (c *cluster) topology(key string, each bool) *topology {
	id := topologyID{key, each}
	t, ok := c.topologies[id]
	if !ok {
		t = &topology{key: key, ids: map[string]int{}, each: each, of: make([]int, c.slots)}
		for i := range t.of {
			t.of[i] = nowhere
		}
		c.topologies[id] = t
		for _, n := range c.nodes {
			t.locate(n)
		}
	}
	return t
}

type topologyID struct {
	key  string
	each bool
}

// locate finds the place of a node again after its object came, changed or went.
func (t *topology) locate(n *node) {
	if t.of[n.slot] != nowhere {
		t.of[n.slot] = nowhere
		t.located--
	}
	if n.obj == nil {
		return
	}
	value, ok := n.obj.Labels[t.key]
	if !ok {
		return
	}
	t.located++
	if t.each {
		t.of[n.slot] = n.slot
		return
	}
	at, known := t.ids[value]
	if !known {
		at = len(t.ids)
		t.ids[value] = at
	}
	t.of[n.slot] = at
}

// tally counts pods by place. It is kept up to date as pods come and go, so
// that no cycle looks at pods.
type tally struct {
	top    *topology
	counts []int64
	total  int64
	// counted are the nodes whose pods count, by slot; nil means all.
	counted []bool
	// stale: counts have changed since the least was found.
	stale bool
}

func (t *tally) add(n *node, d int64) {
	at := t.top.of[n.slot]
	if at == nowhere || t.counted != nil && !t.counted[n.slot] {
		return
	}
	if at >= len(t.counts) {
		t.counts = append(t.counts, make([]int64, at+1-len(t.counts))...)
	}
	t.counts[at] += d
	t.total += d
	t.stale = true
}

// at is the count of a place.
func (t *tally) at(place int) int64 {
	if place < 0 || place >= len(t.counts) {
		return 0
	}
	return t.counts[place]
}

// on is the count of the place where the node of a slot is.
func (t *tally) on(slot int) int64 { return t.at(t.top.of[slot]) }

// feed is a tally that a group's pods count in, each with some weight.
type feed struct {
	to     *tally
	weight int64
}

// link counts a group's pods in a tally from now on: all of them, or those
// that are not being deleted.
func (g *group) link(to *tally, weight int64, living bool) {
	if weight == 0 {
		return
	}
	for n, pods := range g.nodes {
		if n.obj == nil {
			continue
		}
		if living {
			pods = at(g.live, n.slot)
		}
		to.add(n, weight*int64(pods))
	}
	if living {
		g.living = append(g.living, feed{to, weight})
	} else {
		g.feeds = append(g.feeds, feed{to, weight})
	}
}

// count adds pods of the group on a node to all tallies they count in.
func (g *group) count(n *node, pods, live int) {
	if n.obj == nil {
		return
	}
	for _, f := range g.feeds {
		f.to.add(n, f.weight*int64(pods))
	}
	if live == 0 {
		return
	}
	for _, f := range g.living {
		f.to.add(n, f.weight*int64(live))
	}
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

func zoneOf(n *corev1.Node) string {
	return n.Labels[corev1.LabelTopologyRegion] + "/" + n.Labels[corev1.LabelTopologyZone]
}
