package scheduler

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// How many feasible nodes are enough (schedule_one.go numFeasibleNodesToFind).
const (
	enoughNodes    = 100
	leastPercent   = 5
	percentStart   = 50
	nodesToPercent = 125
)

// likeness is what makes two pods get the same answer while nothing changes:
// the same controller and priority.
type likeness struct {
	owner    types.UID
	priority int32
}

// cycle looks for a node for one pod.
func (s *Plugin) cycle(e *entry) {
	if !s.queue.has(e) {
		return // deleted meanwhile
	}
	like := likeness{priority: e.priority}
	if ref := metav1.GetControllerOfNoCopy(e.pod); ref != nil && e.nominated == "" {
		like.owner = ref.UID
		if a, ok := s.refused[like]; ok && a.version == s.cluster.version {
			s.fail(e, a)
			return
		}
	}
	p := s.read(e.pod)
	fits, refusals := s.search(p, e.nominated)
	if len(fits) == 0 {
		a := s.explain(e, p, refusals)
		a.version = s.cluster.version
		if like.owner != "" && a.preempt == nil {
			s.refused[like] = a
		}
		s.fail(e, a)
		return
	}
	s.assign(e, p, s.choose(p, fits))
}

// read prepares a pod for the rules.
func (s *Plugin) read(pod *corev1.Pod) *pending {
	p := s.cluster.read(pod)
	for i, f := range s.filters {
		if !f.skips(p) {
			p.heard |= 1 << i
		}
	}
	return p
}

func (c *cluster) read(pod *corev1.Pod) *pending {
	g := c.groupOf(pod)
	p := &pending{pod: pod, group: g, view: c.view(g), need: c.requests(pod), ports: hostPorts(pod), cluster: c}
	if p.view.picky {
		p.readNames()
	}
	if len(pod.Spec.Volumes) > 0 && p.barred == "" {
		c.readVolumes(p)
	}
	return p
}

// readNames finds the nodes that the pod's node affinity names, if every term
// names some (nodeaffinity/node_affinity.go PreFilter).
func (p *pending) readNames() {
	a := p.pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	only := map[string]bool{}
	for i := range terms {
		names := namedBy(&terms[i])
		if names == nil {
			return
		}
		for _, name := range *names {
			only[name] = true
		}
	}
	switch {
	case len(terms) == 0:
	case len(only) == 0:
		p.barred = "pod affinity terms conflict"
	default:
		p.only = only
	}
}

// namedBy is the node names that all requirements of a term on the name allow;
// nil when it has none.
func namedBy(t *corev1.NodeSelectorTerm) (names *[]string) {
	for _, r := range t.MatchFields {
		if r.Key != metav1.ObjectNameField || r.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		both := r.Values
		if names != nil {
			both = slices.DeleteFunc(slices.Clone(*names), func(n string) bool { return !slices.Contains(r.Values, n) })
		}
		names = &both
	}
	return names
}

// search goes through the nodes from where the last search ended until enough
// of them take the pod. A node that pods were removed from for its sake is
// tried first.
func (s *Plugin) search(p *pending, nominated string) ([]feasible, []verdict) {
	order := s.cluster.sorted()
	if len(order) == 0 || p.barred != "" {
		return nil, nil
	}
	if n, ok := s.cluster.nodes[nominated]; ok && n.obj != nil && s.takes(p, n) {
		return append(s.fits[:0], n.feasible()), nil
	}
	enough := enoughOf(len(order))
	fits, refusals := s.fits[:0], s.refusals[:0]
	at, plain := s.next%len(order), p.plain()
	for seen := 0; seen < len(order) && len(fits) < enough; seen++ {
		here := &order[at]
		r, by := here.room.refusal, fitAt
		if !plain || here.room.to != p.need || here.contested { // not known yet
			r, by = s.check(p, here.node)
		}
		if r != nil {
			refusals = append(refusals, verdict{here.node, r, by})
		} else {
			fits = append(fits, here.feasible())
		}
		if at++; at == len(order) {
			at = 0
		}
	}
	s.fits, s.refusals, s.next = fits, refusals, at
	return fits, refusals
}

func enoughOf(nodes int) int {
	if nodes < enoughNodes {
		return nodes
	}
	percent := max(percentStart-nodes/nodesToPercent, leastPercent)
	return max(nodes*percent/100, enoughNodes)
}

// feasible is a node that takes the pod, with what the scores read of it.
type feasible struct {
	node *node
	slot int
	room int64 // the scores about room together
}

// feasible is for a node that was just found to take a pod.
func (s *spot) feasible() feasible { return feasible{s.node, s.slot, s.room.points} }

// verdict is a node's refusal.
type verdict struct {
	node *node
	*refusal
	by int // the filter's place in the order
}

// plain pods ask nothing but room of any node, as most do.
func (p *pending) plain() bool { return p.heard == 1<<fitAt && p.only == nil }

var notNamed = refuse(true, "node(s) didn't satisfy plugin(s) [NodeAffinity]")

// takes says whether a node passes all filters.
func (s *Plugin) takes(p *pending, n *node) bool {
	r, _ := s.check(p, n)
	return r == nil
}

// check is the first filter's refusal and the filter's place, with pods of the
// same or a higher priority that are to come to the node there already, and then
// without (framework RunFilterPluginsWithNominatedPods).
func (s *Plugin) check(p *pending, n *node) (*refusal, int) {
	if p.only != nil && !p.only[n.name] {
		return notNamed, nodeAffinityAt
	}
	if n.contested {
		if r, by := s.checkWithNominated(p, n); r != nil {
			return r, by
		}
	}
	if p.plain() {
		return n.appraise(p.need).refusal, fitAt
	}
	return s.checkNow(p, n, p.heard)
}

// checkNow asks some of the filters.
func (s *Plugin) checkNow(p *pending, n *node, which blockers) (*refusal, int) {
	for ; which != 0; which &= which - 1 {
		i := bits.TrailingZeros16(uint16(which))
		if r := s.filters[i].refuses(p, n); r != nil {
			return r, i
		}
	}
	return nil, 0
}

func (s *Plugin) checkWithNominated(p *pending, n *node) (*refusal, int) {
	c := s.cluster
	var guests []*placed
	for _, e := range n.nominated {
		if e.pod.UID != p.pod.UID && e.priority >= schedulinghelpers.PodPriority(p.pod) {
			guests = append(guests, c.prepare(e.pod, n, c.groupOf(e.pod)))
		}
	}
	for _, g := range guests {
		c.count(g, 1)
	}
	defer func() {
		for _, g := range guests {
			c.count(g, -1)
		}
	}()
	// The guests may bring a filter something to say.
	return s.checkNow(p, n, 1<<len(s.filters)-1)
}

// choose takes the node with the highest score, one of them at random when
// several share it (schedule_one.go).
func (s *Plugin) choose(p *pending, fits []feasible) *node {
	if len(fits) == 1 {
		return fits[0].node
	}
	best, tied := int64(math.MinInt64), fits[:0]
	for i, total := range s.score(p, fits) {
		if total > best {
			best, tied = total, fits[:0]
		}
		if total == best {
			tied = append(tied, fits[i])
		}
	}
	return tied[s.draw(len(tied))].node
}

// draw is a number below n, at random.
func (s *Plugin) draw(n int) int {
	if s.h == nil {
		return 0 // a scheduler that only looks
	}
	return s.h.Rand().IntN(n)
}

// score adds up the rules' points, weighted. The two about room weigh 1.
func (s *Plugin) score(p *pending, fits []feasible) []int64 {
	s.totals, s.points = slices.Grow(s.totals[:0], len(fits)), slices.Grow(s.points[:0], len(fits))
	totals, points := s.totals[:len(fits)], s.points[:len(fits)]
	for i := range fits {
		totals[i] = fits[i].room
	}
	for _, rule := range s.scorers {
		clear(points)
		if rule.score(p, fits, points) {
			for i := range totals {
				totals[i] += rule.weight * points[i]
			}
		}
	}
	return totals
}

// assign takes the node into account at once and binds the pod a little later.
func (s *Plugin) assign(e *entry, p *pending, n *node) {
	pod, name := e.pod, n.name
	s.nominate(e, "")
	if p.volumes != nil {
		s.bindVolumes(p.volumes, n)
	}
	s.cluster.put(e.number, pod, n, p.group, true)
	s.h.After(s.token()+s.h.Latency(sim.BindPod), func() {
		bound, err := s.h.Bind(pod, name)
		if err != nil {
			s.unassign(e)
			return
		}
		s.queue.drop(e)
		s.h.Emit(sim.RefOf(bound), trace.Scheduled{Node: name})
		s.h.Event(bound, corev1.EventTypeNormal, "Scheduled", fmt.Sprintf("Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, name))
	})
}

// bindVolumes gives the pod's unbound claims the volumes that were found for
// them, as scheduler and volume controller do between them.
func (s *Plugin) bindVolumes(v *volumes, n *node) {
	for i, pv := range v.match(n) {
		if pv == nil {
			continue
		}
		claim := v.loose[i].claim.DeepCopy()
		taken, _, err := storagehelpers.GetBindVolumeToClaim(pv, claim)
		if err != nil {
			continue // cannot be referred to; the claim stays as it is
		}
		claim.Spec.VolumeName = pv.Name
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnBindCompleted, "yes")
		claim.Status.Phase, claim.Status.AccessModes, claim.Status.Capacity = corev1.ClaimBound, pv.Spec.AccessModes, pv.Spec.Capacity
		taken.Status.Phase = corev1.VolumeBound
		for _, obj := range []sim.Object{taken, claim} {
			if _, err := s.h.Update(obj); err != nil {
				return // changed meanwhile; it binds with the next pod
			}
		}
	}
}

// unassign takes a choice back that the API server refused. A pod that is
// still there is tried again.
func (s *Plugin) unassign(e *entry) {
	if p := s.cluster.pods.At(e.number, e.pod.UID); p != nil && p.assumed {
		s.cluster.displace(p)
		s.wake(change{what: podGone, pod: e.pod})
	}
	if s.queue.has(e) {
		s.queue.retry(e, s.h.Now(), s.early())
	}
	s.pump()
}
