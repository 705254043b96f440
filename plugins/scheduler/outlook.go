package scheduler

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// outlook is what the next pod of a group has to expect of nodes and of pods
// that are there. It is made when the group's first pod is to be placed, and
// from then on kept up to date pod by pod.
type outlook struct {
	group *group

	picky     bool // node selector or required node affinity
	affinity  nodeaffinity.RequiredNodeAffinity
	preferred *nodeaffinity.PreferredSchedulingTerms

	wants, avoids, likes []term
	self                 bool     // the pod satisfies its own affinity terms
	near                 []*tally // for each of wants: pods that satisfy all of them
	apart                []*tally // for each of avoids: pods that it matches
	shunned              []*tally // by topology: pods that do not want this one near
	liked                []*tally // by topology: what nearness is worth in scores

	hard, soft []*rule // topology spread
	lenient    bool    // soft constraints are the scheduler's own: nodes may lack labels

	scores []float64 // room for one cycle's work, kept for the next
}

// view is the outlook of a group.
func (c *cluster) view(g *group) *outlook {
	if g.view != nil {
		return g.view
	}
	pod := g.first
	o := &outlook{group: g, wants: required(pod), avoids: g.anti, likes: preferred(pod)}
	o.readNodeAffinity(pod)
	o.self = matchesAll(o.wants, g, c.namespaceLabels)
	for i := range o.wants {
		o.near = append(o.near, &tally{top: c.topology(o.wants[i].key, false)})
	}
	for i := range o.avoids {
		o.apart = append(o.apart, &tally{top: c.topology(o.avoids[i].key, false)})
	}
	o.readSpread(c, pod)
	for _, other := range c.all {
		o.meet(c, other)
	}
	g.view = o
	c.outlooks = append(c.outlooks, o)
	return o
}

func (o *outlook) readNodeAffinity(pod *corev1.Pod) {
	a := pod.Spec.Affinity
	o.affinity = nodeaffinity.GetRequiredNodeAffinity(pod)
	o.picky = len(pod.Spec.NodeSelector) > 0 ||
		a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
	if a == nil || a.NodeAffinity == nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return
	}
	if terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution); err == nil {
		o.preferred = terms
	}
}

// meet counts the pods of a group wherever they matter to this outlook.
func (o *outlook) meet(c *cluster, g *group) {
	if matchesAll(o.wants, g, c.namespaceLabels) {
		for _, t := range o.near {
			g.link(t, 1, false)
		}
	}
	for i := range o.avoids {
		if o.avoids[i].matches(g, c.namespaceLabels) {
			g.link(o.apart[i], 1, false)
		}
	}
	for i := range g.anti {
		if t := &g.anti[i]; t.matches(o.group, c.namespaceLabels) {
			g.link(tallyFor(&o.shunned, c.topology(t.key, false)), 1, false)
		}
	}
	for i := range o.likes {
		if t := &o.likes[i]; t.matches(g, c.namespaceLabels) {
			g.link(tallyFor(&o.liked, c.topology(t.key, false)), t.weight, false)
		}
	}
	for i := range g.drawn {
		if t := &g.drawn[i]; t.matches(o.group, c.namespaceLabels) {
			g.link(tallyFor(&o.liked, c.topology(t.key, false)), t.weight, false)
		}
	}
	if g.namespace != o.group.namespace {
		return
	}
	for _, rules := range [][]*rule{o.hard, o.soft} {
		for _, r := range rules {
			if !r.selector.Empty() && r.selector.Matches(labels.Set(g.labels)) {
				g.link(&r.tally, 1, true)
			}
		}
	}
}

// tallyFor is the tally of a topology, made when it is the first.
func tallyFor(in *[]*tally, top *topology) *tally {
	for _, t := range *in {
		if t.top == top {
			return t
		}
	}
	t := &tally{top: top}
	*in = append(*in, t)
	return t
}

// forget drops all outlooks: namespaces or services changed, which decide what
// terms and selectors match.
func (c *cluster) forget() {
	c.version++
	c.outlooks = nil
	for _, g := range c.all {
		g.view, g.feeds, g.living = nil, nil, nil
	}
}

// namespaceLabels of a namespace without an object are those every namespace has.
func (c *cluster) namespaceLabels(name string) map[string]string {
	if obj, ok := c.world.Get(sim.Namespaces, "", name); ok {
		return obj.GetLabels()
	}
	return map[string]string{corev1.LabelMetadataName: name}
}
