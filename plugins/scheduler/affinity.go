package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// term is one required inter-pod affinity or anti-affinity, parsed.
type term struct {
	namespaces []string
	everywhere labels.Selector // of namespaces; nil when the term names none
	selector   labels.Selector
	key        string // of the topology
}

// terms parses affinity terms of a pod. A term that cannot be parsed matches
// nothing, as with the real scheduler's nothing selector.
func terms(pod *corev1.Pod, from []corev1.PodAffinityTerm) []term {
	out := make([]term, 0, len(from))
	for i := range from {
		t := &from[i]
		one := term{namespaces: t.Namespaces, key: t.TopologyKey, selector: selectorOf(t, pod)}
		if t.NamespaceSelector != nil {
			one.everywhere = parse(t.NamespaceSelector)
		}
		if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
			one.namespaces = []string{pod.Namespace}
		}
		out = append(out, one)
	}
	return out
}

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

func (t *term) matches(namespace string, pod labels.Set, spaces namespaceLabels) bool {
	in := slices.Contains(t.namespaces, namespace) ||
		t.everywhere != nil && t.everywhere.Matches(labels.Set(spaces(namespace)))
	return in && t.selector.Matches(pod)
}

// namespaceLabels are the labels of a namespace by its name.
type namespaceLabels func(name string) map[string]string

// pair is one place in a topology: kubernetes.io/hostname=node-1.
type pair struct{ key, value string }

// interState is how the pods that are there bear on one to be placed, counted
// by place before the nodes are looked at (interpodaffinity/filtering.go PreFilter).
type interState struct {
	affinity, anti []term
	self           bool // the pod satisfies its own affinity terms
	wanted         map[pair]int
	unwanted       map[pair]int // where the pod's own anti-affinity forbids it
	forbidden      map[pair]int // where those of pods that are there do
}

// lookAround counts the groups that concern the pod. Terminating pods count.
func (c *cluster) lookAround(p *pending, spaces namespaceLabels) {
	s := &p.inter
	set := labels.Set(p.pod.Labels)
	if a := p.pod.Spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			s.affinity = terms(p.pod, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			s.anti = terms(p.pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for _, g := range c.averse {
		for i := range g.anti {
			if len(g.nodes) > 0 && g.anti[i].matches(p.pod.Namespace, set, spaces) {
				s.forbidden = g.count(s.forbidden, g.anti[i].key)
			}
		}
	}
	if len(s.affinity)+len(s.anti) == 0 {
		return
	}
	s.self = len(s.affinity) > 0 && matchesAll(s.affinity, p.pod.Namespace, set, spaces)
	for _, g := range c.groups {
		s.weigh(g, spaces)
	}
}

// weigh counts one group under the pod's own terms.
func (s *interState) weigh(g *group, spaces namespaceLabels) {
	if len(g.nodes) == 0 {
		return
	}
	for i := range s.anti {
		if s.anti[i].matches(g.namespace, g.labels, spaces) {
			s.unwanted = g.count(s.unwanted, s.anti[i].key)
		}
	}
	if len(s.affinity) > 0 && matchesAll(s.affinity, g.namespace, g.labels, spaces) {
		for i := range s.affinity {
			s.wanted = g.count(s.wanted, s.affinity[i].key)
		}
	}
}

func matchesAll(terms []term, namespace string, set labels.Set, spaces namespaceLabels) bool {
	for i := range terms {
		if !terms[i].matches(namespace, set, spaces) {
			return false
		}
	}
	return true
}

// count adds the group's pods to the places where they are.
func (g *group) count(to map[pair]int, key string) map[pair]int {
	if to == nil {
		to = map[pair]int{}
	}
	for n, pods := range g.nodes {
		if n.obj == nil {
			continue
		}
		if value, ok := n.obj.Labels[key]; ok {
			to[pair{key, value}] += pods
		}
	}
	return to
}

type interPod struct{}

func (interPod) refuses(p *pending, n *node) *refusal {
	s := &p.inter
	if len(s.affinity) > 0 && !s.near(n) {
		return refuse(true, podPlaced|nodeAdded|nodeChanged, "node(s) didn't match pod affinity rules")
	}
	for i := range s.anti {
		key := s.anti[i].key
		if value, ok := n.obj.Labels[key]; ok && s.unwanted[pair{key, value}] > 0 {
			return refuse(false, podGone|podPlaced|nodeAdded|nodeChanged, "node(s) didn't match pod anti-affinity rules")
		}
	}
	if len(s.forbidden) > 0 && s.shuns(n) {
		return refuse(false, podGone|podPlaced|nodeAdded|nodeChanged, "node(s) didn't satisfy existing pods anti-affinity rules")
	}
	return nil
}

// shuns says whether pods that are there do not want the pod near the node.
func (s *interState) shuns(n *node) bool {
	for key, value := range n.obj.Labels {
		if s.forbidden[pair{key, value}] > 0 {
			return true
		}
	}
	return false
}

// near says whether all affinity terms find their pods at the node's places.
// The first pod of a group that wants its own kind may go anywhere.
func (s *interState) near(n *node) bool {
	found := true
	for i := range s.affinity {
		key := s.affinity[i].key
		value, ok := n.obj.Labels[key]
		if !ok {
			return false
		}
		found = found && s.wanted[pair{key, value}] > 0
	}
	return found || len(s.wanted) == 0 && s.self
}
