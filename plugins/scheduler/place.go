package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
)

// place puts a pod on a node, or takes in a change of one that is there.
func (c *cluster) place(number int, pod *corev1.Pod, name string, assumed bool) {
	live := pod.DeletionTimestamp == nil
	g := c.groupOf(pod)
	if p := c.pods.At(number, pod.UID); p != nil {
		if p.node.name == name && p.group == g && !resized(pod) && (p.live == live || p.need == c.requests(pod)) {
			if p.live != live {
				c.revive(p, live)
			}
			p.pod, p.assumed = pod, p.assumed && assumed
			return
		}
		c.displace(p)
	}
	c.put(number, pod, c.node(name), g, assumed)
}

// put is place for a pod that is on no node yet.
func (c *cluster) put(number int, pod *corev1.Pod, n *node, g *group, assumed bool) {
	c.version++
	p := c.prepare(pod, n, g)
	p.number, p.assumed = number, assumed
	c.pods.Set(number, pod.UID, p)
	p.enter()
	c.count(p, 1)
}

// revive takes in that a pod is asked to go, or no longer: only spread
// constraints tell the difference.
func (c *cluster) revive(p *placed, live bool) {
	c.version++
	p.live = live
	sign := 1
	if !live {
		sign = -1
	}
	p.group.live = plus(p.group.live, p.node.slot, sign)
	p.group.count(p.node, 0, sign)
	p.exit()
	p.enter()
}

// enter puts a pod last in its node's list.
func (p *placed) enter() {
	p.index = len(p.node.pods)
	p.node.pods = append(p.node.pods, p)
}

// exit lets the last in the list take the pod's place.
func (p *placed) exit() {
	pods := p.node.pods
	last := pods[len(pods)-1]
	pods[p.index], last.index = last, p.index
	pods[len(pods)-1] = nil
	p.node.pods = pods[:len(pods)-1]
}

// prepare reads what a pod takes of a node.
func (c *cluster) prepare(pod *corev1.Pod, n *node, g *group) *placed {
	return &placed{pod: pod, node: n, group: g, need: c.requests(pod), ports: hostPorts(pod), claims: claimsOf(pod), live: pod.DeletionTimestamp == nil}
}

// displace takes a pod off its node.
func (c *cluster) displace(p *placed) {
	c.version++
	c.pods.Set(p.number, p.pod.UID, nil)
	c.count(p, -1)
	p.exit()
	c.discard(p.node)
}

// count adds a pod to everything that is counted, or takes it out again.
func (c *cluster) count(p *placed, sign int) {
	n, g := p.node, p.group
	n.room = appraisal{}
	n.used.add(p.need.asked, int64(sign))
	n.scored.add(p.need.scored, int64(sign))
	n.count += int64(sign)
	for _, port := range p.ports {
		n.ports.add(port, sign)
	}
	for _, claim := range p.claims {
		if c.claims[claim] += sign; c.claims[claim] == 0 {
			delete(c.claims, claim)
		}
	}
	rank := schedulinghelpers.PodPriority(p.pod)
	if c.ranks[rank] += sign; c.ranks[rank] == 0 {
		delete(c.ranks, rank)
	}
	n.groups[g] += sign
	g.nodes[n] += sign
	if n.groups[g] == 0 {
		delete(n.groups, g)
		delete(g.nodes, n)
	}
	live := 0
	if p.live {
		live = sign
		g.live = plus(g.live, n.slot, sign)
	}
	g.count(n, sign, live)
}
