package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/topology"
)

// How fast the nodes of a zone may be tainted, in nodes a second, and when a
// zone counts as disrupted.
const (
	evictionRate   = 0.1
	secondaryRate  = 0.01
	largeZone      = 50
	unhealthyShare = float32(0.55)
)

type zoneState string

// The states of a zone.
const (
	initial           zoneState = "Initial"
	normal            zoneState = "Normal"
	partialDisruption zoneState = "PartialDisruption"
	fullDisruption    zoneState = "FullDisruption"
)

// zone is the nodes of one region and zone.
type zone struct {
	key   string
	state zoneState
	queue taintQueue
}

// zones keeps the order in which zones were seen.
type zones struct {
	all   []*zone
	byKey map[string]*zone
}

func zoneOf(node *corev1.Node) string { return topology.GetZoneKey(node) }

func (z *zones) add(node *corev1.Node, now time.Time) {
	key := zoneOf(node)
	if z.byKey[key] != nil {
		return
	}
	if z.byKey == nil {
		z.byKey = map[string]*zone{}
	}
	fresh := &zone{key: key, state: initial, queue: taintQueue{limit: newLimit(evictionRate, now)}}
	z.byKey[key] = fresh
	z.all = append(z.all, fresh)
}

// stateOf says how a zone stands (ComputeZoneState).
func stateOf(ready []bool) zoneState {
	bad := 0
	for _, ok := range ready {
		if !ok {
			bad++
		}
	}
	switch {
	case bad > 0 && bad == len(ready):
		return fullDisruption
	case bad > 2 && float32(bad)/float32(len(ready)) >= unhealthyShare:
		return partialDisruption
	}
	return normal
}

// rate is how fast a zone's nodes may be tainted. When too many nodes of a
// small zone are gone at once, the fault is rather in the middle.
func rate(state zoneState, nodes int) float64 {
	switch {
	case state != partialDisruption:
		return evictionRate
	case nodes > largeZone:
		return secondaryRate
	}
	return 0
}

// disrupt sets the zones' rates by their states after a round. When every node
// of the cluster seems lost, it is the controller that is cut off: nothing is
// evicted then, and taints are taken back (handleDisruption).
func (z *zones) disrupt(p *Plugin, r *round) {
	var here []*zone
	allAre, allWere := true, true
	for _, zone := range z.all {
		ready := r.ready[zone.key]
		if len(ready) == 0 { // its last node is gone
			zone.state = initial
			continue
		}
		here = append(here, zone)
		allAre = allAre && stateOf(ready) == fullDisruption
		allWere = allWere && zone.state == fullDisruption
	}
	switch {
	case allAre && allWere:
		return
	case allAre:
		p.stop(here, r.nodes)
		return
	case allWere:
		p.forgive()
	}
	for _, zone := range here {
		if state := stateOf(r.ready[zone.key]); state != zone.state || allWere {
			zone.state = state
			p.limit(zone, rate(state, len(r.ready[zone.key])))
		}
	}
}

// stop enters master disruption mode. Nodes lose the taints that the
// controller knew of when the round began.
func (p *Plugin) stop(zones []*zone, nodes []*corev1.Node) {
	for _, node := range nodes {
		p.markReachable(node)
	}
	for _, zone := range zones {
		zone.state = fullDisruption
		p.limit(zone, 0)
	}
}

// forgive leaves master disruption mode: all silences count from now on.
func (p *Plugin) forgive() {
	for _, s := range p.silent {
		s.probe = p.h.Now()
	}
}
