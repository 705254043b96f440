package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// term is one inter-pod affinity or anti-affinity, parsed.
type term struct {
	namespaces []string
	everywhere labels.Selector // of namespaces; nil when the term names none
	selector   labels.Selector
	key        string // of the topology
	weight     int64  // what a match counts for in scores; below zero for anti-affinity
}

// hardWeight is what the required affinity of pods that are there counts for
// in scores (InterPodAffinityArgs.HardPodAffinityWeight).
const hardWeight = 1

// terms parses affinity terms of a pod. A term that cannot be parsed matches
// nothing, as with the real scheduler's nothing selector.
func terms(pod *corev1.Pod, from []corev1.PodAffinityTerm) []term {
	out := make([]term, 0, len(from))
	for i := range from {
		out = append(out, parseTerm(pod, &from[i], hardWeight))
	}
	return out
}

func parseTerm(pod *corev1.Pod, t *corev1.PodAffinityTerm, weight int64) term {
	one := term{namespaces: t.Namespaces, key: t.TopologyKey, selector: selectorOf(t, pod), weight: weight}
	if t.NamespaceSelector != nil {
		one.everywhere = parse(t.NamespaceSelector)
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		one.namespaces = []string{pod.Namespace}
	}
	return one
}

// required are the affinity terms that a node must fulfil.
func required(pod *corev1.Pod) []term {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return terms(pod, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return nil
}

// repelled are the required anti-affinity terms.
func repelled(pod *corev1.Pod) []term {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return terms(pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return nil
}

// preferred are the terms that only score.
func preferred(pod *corev1.Pod) (out []term) {
	a := pod.Spec.Affinity
	if a == nil {
		return nil
	}
	take := func(from []corev1.WeightedPodAffinityTerm, sign int64) {
		for i := range from {
			out = append(out, parseTerm(pod, &from[i].PodAffinityTerm, sign*int64(from[i].Weight)))
		}
	}
	if a.PodAffinity != nil {
		take(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
	}
	if a.PodAntiAffinity != nil {
		take(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, -1)
	}
	return out
}

// attracted are the terms of a placed pod that count in the scores of others.
func attracted(pod *corev1.Pod) []term { return append(required(pod), preferred(pod)...) }

// selectorOf adds to the label selector what matchLabelKeys and
// mismatchLabelKeys take from the pod's own labels.
func selectorOf(t *corev1.PodAffinityTerm, pod *corev1.Pod) labels.Selector {
	if t.LabelSelector == nil {
		return labels.Nothing()
	}
	s := t.LabelSelector.DeepCopy()
	add := func(keys []string, op metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if v, ok := pod.Labels[key]; ok {
				s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{v}})
			}
		}
	}
	add(t.MatchLabelKeys, metav1.LabelSelectorOpIn)
	add(t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	return parse(s)
}

func parse(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

func (t *term) matches(g *group, spaces namespaceLabels) bool {
	in := slices.Contains(t.namespaces, g.namespace) ||
		t.everywhere != nil && t.everywhere.Matches(labels.Set(spaces(g.namespace)))
	return in && t.selector.Matches(labels.Set(g.labels))
}

func matchesAll(terms []term, g *group, spaces namespaceLabels) bool {
	for i := range terms {
		if !terms[i].matches(g, spaces) {
			return false
		}
	}
	return len(terms) > 0
}

// namespaceLabels are the labels of a namespace by its name.
type namespaceLabels func(name string) map[string]string

// interPod is inter-pod affinity and anti-affinity (interpodaffinity/filtering.go).
type interPod struct{}

func (interPod) skips(p *pending) bool {
	return len(p.view.near) == 0 && len(p.view.apart) == 0 && len(p.view.shunned) == 0
}

func (interPod) refuses(p *pending, n *node) *refusal {
	o := p.view
	if len(o.near) > 0 && !o.finds(n) {
		return errWanted
	}
	for _, t := range o.apart {
		if t.on(n.slot) > 0 {
			return errAvoided
		}
	}
	for _, t := range o.shunned {
		if t.on(n.slot) > 0 {
			return errShunned
		}
	}
	return nil
}

// finds says whether all affinity terms find their pods at the node's places.
// The first pod of a group that wants its own kind may go anywhere.
func (o *outlook) finds(n *node) bool {
	found, alone := true, o.self
	for _, t := range o.near {
		if t.top.of[n.slot] == nowhere {
			return false
		}
		found = found && t.on(n.slot) > 0
		alone = alone && t.total == 0
	}
	return found || alone
}

// scoreInterPod adds up what the pods at a node's places are worth to the pod,
// and it to them (interpodaffinity/scoring.go).
func scoreInterPod(p *pending, fits []feasible, points []int64) bool {
	if len(p.view.liked) == 0 {
		return false
	}
	for i := range fits {
		for _, t := range p.view.liked {
			points[i] += t.on(fits[i].slot)
		}
	}
	least, most := slices.Min(points), slices.Max(points)
	for i, v := range points {
		points[i] = 0
		if most > least {
			points[i] = int64(top * (float64(v-least) / float64(most-least)))
		}
	}
	return true
}
