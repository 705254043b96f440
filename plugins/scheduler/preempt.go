package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// What preemption says of nodes where it does not help.
const (
	unhelpful = "Preemption is not helpful for scheduling"
	noVictims = "No preemption victims found for incoming pod"
)

// How many nodes are tried out (DefaultPreemptionArgs: 10 %, at least 100).
const (
	candidatePercent = 10
	leastCandidates  = 100
)

// candidate is a node with the pods that would have to go.
type candidate struct {
	node       *node
	victims    []*placed // most important first
	violations int       // of PodDisruptionBudgets
}

// preempt looks for pods of lower priority whose removal would let the pod in
// and says what came of it (framework/preemption, plugins/defaultpreemption).
func (s *Plugin) preempt(e *entry, p *pending, refusals []verdict, a *answer) string {
	if why := s.ineligible(e, p, refusals); why != "" {
		return why
	}
	candidates, tried := s.dryRun(p, refusals)
	if len(candidates) > 0 {
		a.preempt = s.best(candidates)
		return fmt.Sprintf("found a potential placement for pod on node %s, preempting %d victims", a.preempt.node.name, len(a.preempt.victims))
	}
	a.renounce = true
	total := len(s.cluster.order)
	if rest := total - tried.nodes; rest > 0 {
		tried.reasons[unhelpful] += rest
	}
	return fmt.Sprintf("0/%d nodes are available: %s.", total, histogram(tried.reasons))
}

// ineligible is why a pod may not remove others, or not again.
func (s *Plugin) ineligible(e *entry, p *pending, refusals []verdict) string {
	if policy := p.pod.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
		return "not eligible due to preemptionPolicy=Never."
	}
	n, ok := s.cluster.nodes[e.nominated]
	if !ok || slices.ContainsFunc(refusals, func(v verdict) bool { return v.node == n && v.unresolvable }) {
		return ""
	}
	for _, other := range n.pods {
		if priorityOf(other) < e.priority && preempted(other.pod) {
			return "not eligible due to a terminating pod on the nominated node."
		}
	}
	return ""
}

// preempted pods are being deleted for the sake of another.
func preempted(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

func priorityOf(p *placed) int32 { return schedulinghelpers.PodPriority(p.pod) }

// trial is what came of the nodes that were tried.
type trial struct {
	nodes   int
	reasons map[string]int
}

// dryRun removes pods in thought, node by node, until enough candidates are found.
func (s *Plugin) dryRun(p *pending, refusals []verdict) (found []*candidate, tried trial) {
	var potential []verdict
	for _, v := range refusals {
		if !v.unresolvable {
			potential = append(potential, v)
		}
	}
	tried.reasons = map[string]int{}
	if len(potential) == 0 {
		return nil, tried
	}
	if !s.cluster.outranked(schedulinghelpers.PodPriority(p.pod)) {
		return nil, trial{len(potential), map[string]int{noVictims: len(potential)}}
	}
	enough := min(max(len(potential)*candidatePercent/100, leastCandidates), len(potential))
	offset, kind := 0, 0
	if enough < len(potential) {
		offset = s.draw(len(potential))
	}
	for i := range potential {
		c, reasons := s.selectVictims(p, potential[(offset+i)%len(potential)].node)
		if c == nil {
			tried.nodes++
			for _, r := range reasons {
				tried.reasons[r]++
			}
			continue
		}
		found = append(found, c)
		if c.violations == 0 {
			kind++
		}
		if kind > 0 && len(found) >= enough {
			break
		}
	}
	return found, tried
}

// outranked says whether any pod on a node has a lower priority.
func (c *cluster) outranked(priority int32) bool {
	for rank := range c.ranks {
		if rank < priority {
			return true
		}
	}
	return false
}

// selectVictims finds the fewest pods of a node that must go: all of lower
// priority are taken off, and put back one by one, the most important first,
// as long as the pod still fits.
func (s *Plugin) selectVictims(p *pending, n *node) (*candidate, []string) {
	var lower []*placed
	for _, other := range n.pods {
		if priorityOf(other) < schedulinghelpers.PodPriority(p.pod) {
			lower = append(lower, other)
		}
	}
	if len(lower) == 0 {
		return nil, []string{noVictims}
	}
	slices.SortFunc(lower, byImportance)
	for _, v := range lower {
		s.cluster.lift(v, 1)
	}
	c := &candidate{node: n}
	r, _ := s.check(p, n)
	if r == nil {
		s.reprieve(p, c, lower)
		lower = c.victims
	}
	for _, v := range lower {
		s.cluster.lift(v, -1)
	}
	if r != nil {
		return nil, r.reasons
	}
	return c, nil
}

// reprieve puts pods back that need not go: first those whose removal would
// break a PodDisruptionBudget.
func (s *Plugin) reprieve(p *pending, c *candidate, lower []*placed) {
	violating, others := s.violating(lower)
	for i, pods := range [][]*placed{violating, others} {
		for _, v := range pods {
			s.cluster.lift(v, -1)
			if s.takes(p, c.node) {
				continue
			}
			s.cluster.lift(v, 1)
			c.victims = append(c.victims, v)
			if i == 0 {
				c.violations++
			}
		}
	}
	slices.SortStableFunc(c.victims, byImportance)
}

// lift takes a pod off its node in thought, or puts it back. Spread constraints
// subtract pods that are being deleted although they did not count them
// (podtopologyspread/filtering.go updateWithPod).
func (c *cluster) lift(p *placed, sign int) {
	c.count(p, -sign)
	if !p.live && p.node.obj != nil {
		for _, f := range p.group.living {
			f.to.add(p.node, -int64(sign)*f.weight)
		}
	}
}

// byImportance puts higher priorities first, then pods that have run longer.
func byImportance(a, b *placed) int {
	if c := cmp.Compare(priorityOf(b), priorityOf(a)); c != 0 {
		return c
	}
	if c := cmp.Compare(startOf(a.pod), startOf(b.pod)); c != 0 {
		return c
	}
	return cmp.Compare(a.pod.Name, b.pod.Name)
}

// startOf is when a pod started, in nanoseconds; pods that have not are newest.
func startOf(pod *corev1.Pod) int64 {
	if pod.Status.StartTime == nil {
		return math.MaxInt64
	}
	return pod.Status.StartTime.UnixNano()
}

// violating divides pods into those whose removal a PodDisruptionBudget does
// not allow, and the others (preemption/util.go FilterVictimsWithPDBViolation).
func (s *Plugin) violating(pods []*placed) (violating, others []*placed) {
	budgets := s.cluster.world.List(sim.DisruptionBudgs, "")
	allowed := make([]int32, len(budgets))
	for i, obj := range budgets {
		if b, ok := obj.(*policyv1.PodDisruptionBudget); ok {
			allowed[i] = b.Status.DisruptionsAllowed
		}
	}
	for _, p := range pods {
		breaks := false
		for i, obj := range budgets {
			if b, ok := obj.(*policyv1.PodDisruptionBudget); ok && covers(b, p.pod) {
				allowed[i]--
				if allowed[i] < 0 {
					breaks = true
					break
				}
			}
		}
		if breaks {
			violating = append(violating, p)
		} else {
			others = append(others, p)
		}
	}
	return violating, others
}

func covers(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if b.Namespace != pod.Namespace || len(pod.Labels) == 0 {
		return false
	}
	selector := parse(b.Spec.Selector)
	_, counted := b.Status.DisruptedPods[pod.Name]
	return !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) && !counted
}

// best is the candidate that hurts least; the rules are asked one after the
// other as long as several share the first place (preemption.go pickOneNodeForPreemption).
func (s *Plugin) best(from []*candidate) *candidate {
	// Those that break no budget come first.
	for _, cost := range []func(*candidate) int64{
		func(c *candidate) int64 { return int64(c.violations) },
		func(c *candidate) int64 { return int64(priorityOf(c.victims[0])) },
		sumOfPriorities,
		func(c *candidate) int64 { return int64(len(c.victims)) },
		func(c *candidate) int64 { return -earliestStart(c) },
	} {
		least := int64(math.MaxInt64)
		for _, c := range from {
			least = min(least, cost(c))
		}
		from = slices.DeleteFunc(from, func(c *candidate) bool { return cost(c) != least })
		if len(from) == 1 {
			return from[0]
		}
	}
	return from[s.draw(len(from))]
}

func sumOfPriorities(c *candidate) (sum int64) {
	for _, v := range c.victims {
		sum += int64(priorityOf(v)) + math.MaxInt32 + 1
	}
	return sum
}

// earliestStart is when the first of the most important victims started.
func earliestStart(c *candidate) int64 {
	first := int64(math.MaxInt64)
	for _, v := range c.victims {
		if priorityOf(v) == priorityOf(c.victims[0]) {
			first = min(first, startOf(v.pod))
		}
	}
	return first
}
