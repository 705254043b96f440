package scheduler

import (
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// rule is one topology spread constraint, parsed, with the pods it counts:
// those of the pod's namespace that match and are not being deleted.
type rule struct {
	tally
	selector      labels.Selector
	skew, domains int64 // maxSkew and minDomains
	honourNodes   bool  // nodes that node affinity rules out do not count
	honourTaints  bool  // nor those with taints that are not tolerated
	self          int64 // 1 when the pod itself matches

	eligible []int // nodes that count, by place
	distinct int64 // places that have any
	least    int64 // pods in the place with the fewest
	seen     []uint64
	round    uint64
	worth    []int64 // room for one cycle's work, kept for the next
}

// The spreading that pods get without constraints of their own
// (podtopologyspread/plugin.go systemDefaultConstraints).
var defaultConstraints = []corev1.TopologySpreadConstraint{
	{TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 3},
	{TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 5},
}

// readSpread parses a pod's constraints, or gives it the default ones.
func (o *outlook) readSpread(c *cluster, pod *corev1.Pod) {
	constraints := pod.Spec.TopologySpreadConstraints
	var selector labels.Selector
	if len(constraints) == 0 {
		o.lenient, constraints = true, defaultConstraints
		if selector = c.defaultSelector(pod); selector.Empty() {
			return
		}
	}
	for i := range constraints {
		r := newRule(c, &constraints[i], pod, selector)
		if constraints[i].WhenUnsatisfiable == corev1.ScheduleAnyway {
			o.soft = append(o.soft, r)
		} else {
			o.hard = append(o.hard, r)
		}
	}
	for _, n := range c.nodes {
		o.regard(n)
	}
}

func newRule(c *cluster, from *corev1.TopologySpreadConstraint, pod *corev1.Pod, selector labels.Selector) *rule {
	if selector == nil {
		selector = spreadSelector(from, pod)
	}
	soft := from.WhenUnsatisfiable == corev1.ScheduleAnyway
	r := &rule{selector: selector, skew: int64(from.MaxSkew), domains: 1, honourNodes: true}
	// Scores count the pods of each node by themselves.
	r.top = c.topology(from.TopologyKey, soft && from.TopologyKey == corev1.LabelHostname)
	if from.MinDomains != nil {
		r.domains = int64(*from.MinDomains)
	}
	if p := from.NodeAffinityPolicy; p != nil {
		r.honourNodes = *p == corev1.NodeInclusionPolicyHonor
	}
	if p := from.NodeTaintsPolicy; p != nil {
		r.honourTaints = *p == corev1.NodeInclusionPolicyHonor
	}
	if selector.Matches(labels.Set(pod.Labels)) {
		r.self = 1
	}
	if !r.top.each {
		r.counted = make([]bool, c.slots)
	}
	return r
}

// spreadSelector adds what matchLabelKeys takes from the pod's own labels.
func spreadSelector(from *corev1.TopologySpreadConstraint, pod *corev1.Pod) labels.Selector {
	s := parse(from.LabelSelector)
	own := labels.Set{}
	for _, key := range from.MatchLabelKeys {
		if v, ok := pod.Labels[key]; ok {
			own[key] = v
		}
	}
	requirements, selectable := s.Requirements()
	if len(own) == 0 || !selectable {
		return s
	}
	return labels.SelectorFromSet(own).Add(requirements...)
}

// defaultSelector is what pods spread against by default: the selectors of the
// pod's services and of its ReplicaSet (plugins/helper/spread.go DefaultSelector).
func (c *cluster) defaultSelector(pod *corev1.Pod) labels.Selector {
	merged := labels.Set{}
	for _, obj := range c.world.List(sim.Services, pod.Namespace) {
		if s, ok := obj.(*corev1.Service); ok && s.Spec.Selector != nil && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			merged = labels.Merge(merged, s.Spec.Selector)
		}
	}
	selector := labels.SelectorFromSet(merged)
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != "ReplicaSet" || ref.APIVersion != appsv1.SchemeGroupVersion.String() {
		return selector
	}
	obj, ok := c.world.Get(sim.ReplicaSets, pod.Namespace, ref.Name)
	rs, isSet := obj.(*appsv1.ReplicaSet)
	if !ok || !isSet {
		return selector
	}
	if requirements, ok := parse(rs.Spec.Selector).Requirements(); ok {
		selector = selector.Add(requirements...)
	}
	return selector
}

// regard looks at a node that is new or changed: whether its pods count.
func (o *outlook) regard(n *node) {
	for i, rules := range [][]*rule{o.hard, o.soft} {
		all := n.obj != nil && (i == 1 && o.lenient || hasLabels(n.slot, rules))
		for _, r := range rules {
			if r.counted != nil {
				r.counted[n.slot] = all && o.includes(r, n)
			}
			r.domain(n, 1)
		}
	}
}

func hasLabels(slot int, rules []*rule) bool {
	for _, r := range rules {
		if r.top.of[slot] == nowhere {
			return false
		}
	}
	return true
}

// includes applies the constraint's policies (common.go matchNodeInclusionPolicies).
func (o *outlook) includes(r *rule, n *node) bool {
	if r.honourNodes && o.picky {
		if ok, err := o.affinity.Match(n.obj); !ok || err != nil {
			return false
		}
	}
	return !r.honourTaints || hardTaint(n.obj, o.group.first.Spec.Tolerations) == nil
}

// domain counts a node among those of its place.
func (r *rule) domain(n *node, sign int) {
	at := r.top.of[n.slot]
	if at == nowhere || r.counted == nil || !r.counted[n.slot] {
		return
	}
	before := 0
	if at < len(r.eligible) {
		before = r.eligible[at]
	}
	r.eligible = plus(r.eligible, at, sign)
	if before == 0 || before+sign == 0 {
		r.distinct += int64(sign)
	}
	r.stale = true
}

// minimum is the count of the place with the fewest pods; zero while there are
// fewer places than minDomains asks for.
func (r *rule) minimum() int64 {
	if r.stale {
		r.stale, r.least = false, math.MaxInt32
		for place, nodes := range r.eligible {
			if nodes > 0 {
				r.least = min(r.least, r.at(place))
			}
		}
	}
	if r.distinct < r.domains {
		return 0
	}
	return r.least
}

// spread is the filter of constraints that must hold (podtopologyspread/filtering.go).
type spread struct{}

func (spread) skips(p *pending) bool { return len(p.view.hard) == 0 }

func (spread) refuses(p *pending, n *node) *refusal {
	for _, r := range p.view.hard {
		at := r.top.of[n.slot]
		if at == nowhere {
			return errUnlabeled
		}
		if r.at(at)+r.self-r.minimum() > r.skew {
			return errSkewed
		}
	}
	return nil
}

// scoreSpread prefers places with few of the pods that soft constraints count
// (podtopologyspread/scoring.go).
func scoreSpread(p *pending, fits []feasible, points []int64) bool {
	o := p.view
	if len(o.soft) == 0 {
		return false
	}
	if r := o.only(); r != nil && r.rank(fits, r.weigh(fits, points, len(fits)), points) {
		return true
	}
	o.scores = slices.Grow(o.scores[:0], len(fits))[:len(fits)]
	clear(o.scores)
	kept := o.sift(fits, points)
	for _, r := range o.soft {
		if r.top.located > 0 { // one that no node is part of tells none apart
			r.score(fits, r.weigh(fits, points, kept), o.scores)
		}
	}
	evenOut(o.scores, points)
	return true
}

// only is the one soft constraint that tells nodes apart, where no node is left
// out for want of a label; nil when there are more.
func (o *outlook) only() *rule {
	var only *rule
	for _, r := range o.soft {
		switch {
		case r.top.located == 0:
		case !o.lenient || only != nil:
			return nil
		default:
			only = r
		}
	}
	return only
}

// rank is score and evenOut of a constraint that is alone: nodes whose places
// have equally many pods are worth the same, which is worked out once. It
// reports false, and leaves the points alone, where there are too many numbers.
func (r *rule) rank(fits []feasible, weight float64, points []int64) bool {
	least, most := int64(math.MaxInt64), int64(nowhere)
	for i := range fits {
		count := r.countAt(fits[i].slot)
		points[i], least, most = count, min(least, count), max(most, count)
	}
	if most-least >= int64(len(fits)) {
		clear(points)
		return false
	}
	r.worth = slices.Grow(r.worth[:0], int(most-least)+1)
	rounded := func(count int64) int64 { return int64(math.Round(r.scoreOf(count, weight))) }
	lowest, highest := rounded(least), rounded(most)
	for count := least; count <= most; count++ {
		r.worth = append(r.worth, evened(rounded(count), lowest, highest))
	}
	for i, count := range points {
		points[i] = r.worth[count-least]
	}
	return true
}

// countAt is how many pods the place of a node has; nowhere for one without a place.
func (r *rule) countAt(slot int) int64 {
	if at := r.top.of[slot]; at != nowhere {
		return r.at(at)
	}
	return nowhere
}

// scoreOf is the score of places with so many pods, which rises with them.
func (r *rule) scoreOf(count int64, weight float64) float64 {
	if count == nowhere {
		return 0
	}
	return float64(count)*weight + float64(r.skew-1)
}

// sift marks the nodes that lack a label, and counts the others.
func (o *outlook) sift(fits []feasible, points []int64) int {
	if o.lenient {
		return len(fits)
	}
	kept := 0
	for i := range fits {
		if hasLabels(fits[i].slot, o.soft) {
			kept++
		} else {
			points[i] = ignored
		}
	}
	return kept
}

// score adds what the constraint says of each node: the fewer, the better.
func (r *rule) score(fits []feasible, weight float64, scores []float64) {
	for i := range fits {
		scores[i] += r.scoreOf(r.countAt(fits[i].slot), weight)
	}
}

// ignored marks nodes that lack a label that soft constraints name.
const ignored = -1

// weigh is the constraint's weight: the more places there are among the nodes
// that are kept, the more a pod counts.
func (r *rule) weigh(fits []feasible, points []int64, kept int) float64 {
	size := kept
	if !r.top.each {
		size = 0
		r.round++
		for i := range fits {
			if points[i] != ignored && r.meets(fits[i].slot) {
				size++
			}
		}
	}
	return math.Log(float64(size + 2))
}

// meets says whether a node's place has not been met in this round. Nodes
// without the label are a place together.
func (r *rule) meets(slot int) bool {
	at := r.top.of[slot] + 1
	if at >= len(r.seen) {
		r.seen = append(r.seen, make([]uint64, at+1-len(r.seen))...)
	}
	fresh := r.seen[at] != r.round
	r.seen[at] = r.round
	return fresh
}

// evenOut turns scores into points: the fewer the better.
func evenOut(scores []float64, points []int64) {
	least, most := int64(math.MaxInt64), int64(0)
	last, rounded := 0.0, int64(0) // many nodes in a row have the same
	for i, score := range scores {
		if points[i] == ignored {
			continue
		}
		if score != last {
			last, rounded = score, int64(math.Round(score))
		}
		points[i], least, most = rounded, min(least, rounded), max(most, rounded)
	}
	before, worth := int64(ignored), int64(0)
	for i, v := range points {
		if v != before {
			before, worth = v, evened(v, least, most)
		}
		points[i] = worth
	}
}

// evened is what a node is worth that has v where others have from least to most.
func evened(v, least, most int64) int64 {
	switch {
	case v == ignored:
		return 0
	case most == 0:
		return top
	}
	return top * (most + least - v) / most
}
