package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// top is the best score of one rule (staging kube-scheduler framework MaxNodeScore).
const top = 100

// scorer is one rule by which nodes that passed all filters are compared.
type scorer struct {
	weight int64
	// score fills in points from 0 to top for each node; it reports false when
	// the rule has nothing to say about the pod.
	score func(p *pending, fits []feasible, points []int64) bool
}

// scorers are the default rules that can tell nodes apart here, with their
// weights (apis/config/v1/default_plugins.go), but for the two about room: a
// feasible node has their points.
func (c *cluster) scorers() []scorer {
	return []scorer{
		{3, scoreTaints}, {2, scorePreferences}, {2, scoreSpread}, {2, scoreInterPod}, {1, c.scoreImages},
	}
}

// leastAllocated prefers empty nodes (noderesources/least_allocated.go).
func (n *node) leastAllocated(d *need) int64 {
	var sum, weights int64
	for _, r := range [2][2]int64{
		{n.scored.cpu + d.weighed.cpu, n.allocatable.cpu},
		{n.scored.memory + d.weighed.memory, n.allocatable.memory},
	} {
		if r[1] == 0 {
			continue
		}
		weights++
		if r[0] <= r[1] {
			sum += (r[1] - r[0]) * top / r[1]
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// balanced prefers nodes whose CPU and memory the pod brings closer together
// (noderesources/balanced_allocation.go). It has nothing to say of a pod that
// asks for neither.
func (n *node) balanced(d *need) int64 {
	if d.asked.cpu == 0 && d.asked.memory == 0 {
		return 0
	}
	before := balance(n.used.cpu, n.used.memory, n.allocatable)
	after := balance(n.used.cpu+d.asked.cpu, n.used.memory+d.asked.memory, n.allocatable)
	return top/2 + (top/2+after-before)/2
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
func scoreTaints(p *pending, fits []feasible, points []int64) bool {
	if p.cluster.soft == 0 {
		for i := range points {
			points[i] = top
		}
		return true
	}
	for i := range fits {
		taints := fits[i].node.obj.Spec.Taints
		for j := range taints {
			t := &taints[j]
			if t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(p.pod.Spec.Tolerations, t) {
				points[i]++
			}
		}
	}
	normalize(points, true)
	return true
}

// scorePreferences follows preferred node affinity (nodeaffinity/node_affinity.go).
func scorePreferences(p *pending, fits []feasible, points []int64) bool {
	if p.view.preferred == nil {
		return false
	}
	for i := range fits {
		points[i] = p.view.preferred.Score(fits[i].node.obj)
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
