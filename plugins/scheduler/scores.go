package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// top is the best score of one rule (staging kube-scheduler framework MaxNodeScore).
const top = 100

// scorer is one rule by which nodes that passed all filters are compared.
type scorer struct {
	weight int64
	// score fills in points from 0 to top for each node; it reports false when
	// the rule has nothing to say about the pod.
	score func(p *pending, nodes []*node, points []int64) bool
}

// scorers are the default rules that can tell nodes apart here. Images are
// taken to be the same everywhere.
func scorers() []scorer {
	return []scorer{
		{3, scoreTaints}, {2, scorePreferences}, {2, scoreSpread},
		{1, scoreLeastAllocated}, {1, scoreBalance},
	}
}

// scoreLeastAllocated prefers empty nodes (noderesources/least_allocated.go).
func scoreLeastAllocated(p *pending, nodes []*node, points []int64) bool {
	for i, n := range nodes {
		var sum, weights int64
		for _, r := range [2][2]int64{
			{n.scored.cpu + p.scored.cpu, n.allocatable.cpu},
			{n.scored.memory + p.scored.memory, n.allocatable.memory},
		} {
			if r[1] == 0 {
				continue
			}
			weights++
			if r[0] <= r[1] {
				sum += (r[1] - r[0]) * top / r[1]
			}
		}
		if weights > 0 {
			points[i] = sum / weights
		}
	}
	return true
}

// scoreBalance prefers nodes whose CPU and memory the pod brings closer
// together (noderesources/balanced_allocation.go).
func scoreBalance(p *pending, nodes []*node, points []int64) bool {
	if p.asked.cpu == 0 && p.asked.memory == 0 {
		return false
	}
	for i, n := range nodes {
		before := balance(n.used.cpu, n.used.memory, n.allocatable)
		after := balance(n.used.cpu+p.asked.cpu, n.used.memory+p.asked.memory, n.allocatable)
		points[i] = top/2 + (top/2+after-before)/2
	}
	return true
}

func balance(cpu, memory int64, room amounts) int64 {
	deviation := 0.0
	if room.cpu != 0 && room.memory != 0 {
		c := min(float64(cpu)/float64(room.cpu), 1)
		m := min(float64(memory)/float64(room.memory), 1)
		deviation = math.Abs((c - m) / 2)
	}
	return int64((1 - deviation) * top)
}

// scoreTaints prefers nodes with few PreferNoSchedule taints that the pod does
// not tolerate (tainttoleration/taint_toleration.go).
func scoreTaints(p *pending, nodes []*node, points []int64) bool {
	found := false
	for i, n := range nodes {
		points[i] = 0
		for j := range n.obj.Spec.Taints {
			t := &n.obj.Spec.Taints[j]
			if t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(p.pod.Spec.Tolerations, t) {
				points[i]++
				found = true
			}
		}
	}
	if found {
		normalize(points, true)
	}
	return found
}

// scorePreferences follows preferred node affinity (nodeaffinity/node_affinity.go).
func scorePreferences(p *pending, nodes []*node, points []int64) bool {
	a := p.pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return false
	}
	preferred, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return false
	}
	for i, n := range nodes {
		points[i] = preferred.Score(n.obj)
	}
	normalize(points, false)
	return true
}

// normalize scales points so that the largest becomes top, or turns them round.
func normalize(points []int64, reverse bool) {
	var most int64
	for _, v := range points {
		most = max(most, v)
	}
	for i, v := range points {
		if most > 0 {
			v = top * v / most
		}
		if reverse {
			v = top - v
		}
		points[i] = v
	}
}

// Skews that the default spreading tolerates (podtopologyspread/plugin.go).
const (
	hostSkew = 3
	zoneSkew = 5
)

// scoreSpread is the spreading that pods get without constraints of their own:
// by host and by zone, among the pods of the same controller, which is to say
// of the same revision. Terminating pods do not count (podtopologyspread/scoring.go).
func scoreSpread(p *pending, nodes []*node, points []int64) bool {
	if p.owner == "" || len(p.pod.Spec.TopologySpreadConstraints) > 0 {
		return false
	}
	var seen []int // nodes by zone
	for _, n := range nodes {
		seen = plus(seen, n.zone, 1)
	}
	zones := 0
	for z, n := range seen {
		if z > 0 && n > 0 {
			zones++
		}
	}
	hostWeight, zoneWeight := math.Log(float64(len(nodes)+2)), math.Log(float64(zones+2))
	for i, n := range nodes {
		score := 0.0
		onNode, inZone := p.alive(n)
		if n.hostname {
			score = float64(onNode)*hostWeight + hostSkew - 1
		}
		if n.zone > 0 {
			score += float64(inZone)*zoneWeight + zoneSkew - 1
		}
		points[i] = int64(math.Round(score))
	}
	evenOut(points)
	return true
}

// alive counts the pods of the same controller on a node and in its zone that
// are not being deleted.
func (p *pending) alive(n *node) (onNode, inZone int) {
	for _, g := range p.kin {
		onNode += at(g.live, n.slot)
		inZone += at(g.liveZones, n.zone)
	}
	return onNode, inZone
}

// evenOut turns counts into points: the fewer the better.
func evenOut(points []int64) {
	least, most := int64(math.MaxInt64), int64(0)
	for _, v := range points {
		least, most = min(least, v), max(most, v)
	}
	for i, v := range points {
		if most == 0 {
			points[i] = top
			continue
		}
		points[i] = top * (most + least - v) / most
	}
}
