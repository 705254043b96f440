package scheduler

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// group is pods that are alike to every rule about other pods: the same
// namespace, labels and owner, and the same wishes. Terms and selectors are
// matched once a group instead of once a pod.
type group struct {
	namespace string
	labels    map[string]string
	owner     types.UID
	first     *corev1.Pod // the pod that the group was made for

	anti   []term // required anti-affinity of the group's own pods
	drawn  []term // what they like, with weights: it counts in scores
	honour bool   // a spread constraint of theirs asks whether taints are tolerated

	nodes  map[*node]int // pods, by node
	live   []int         // pods not being deleted, by node slot
	feeds  []feed        // the tallies that its pods count in
	living []feed        // those that pods being deleted do not count in
	view   *outlook      // how the pods that are there bear on the group's next
}

type groupKey struct {
	namespace, labels, wishes string
	owner                     types.UID
}

// groupOf is the group of a pod. Pods of a template share their first
// container, by which the group of the last is found again.
func (c *cluster) groupOf(pod *corev1.Pod) *group {
	var owner types.UID
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		owner = ref.UID
	}
	var template *corev1.Container
	if len(pod.Spec.Containers) > 0 {
		template = &pod.Spec.Containers[0]
		if g := c.recent[template]; g != nil && g.takes(pod, owner) {
			return g
		}
	}
	key := groupKey{namespace: pod.Namespace, labels: canonical(pod.Labels), owner: owner, wishes: wishes(pod)}
	g, ok := c.groups[key]
	if !ok {
		g = &group{namespace: pod.Namespace, labels: pod.Labels, owner: owner, first: pod, honour: honoursTaints(pod), nodes: map[*node]int{}}
		g.anti, g.drawn = repelled(pod), attracted(pod)
		c.groups[key] = g
		c.all = append(c.all, g)
		for _, o := range c.outlooks {
			o.meet(c, g)
		}
	}
	c.recent[template] = g
	return g
}

// takes says at a glance that a pod is one of the group's.
func (g *group) takes(pod *corev1.Pod, owner types.UID) bool {
	a, b := &g.first.Spec, &pod.Spec
	return g.owner == owner && g.namespace == pod.Namespace && !g.honour && a.Affinity == b.Affinity &&
		len(a.TopologySpreadConstraints) == len(b.TopologySpreadConstraints) &&
		(len(a.TopologySpreadConstraints) == 0 || &a.TopologySpreadConstraints[0] == &b.TopologySpreadConstraints[0]) &&
		rollout.SameLabels(a.NodeSelector, b.NodeSelector) && rollout.SameLabels(g.labels, pod.Labels)
}

// wishes is what else tells groups apart, as text: where pods want to be.
func wishes(pod *corev1.Pod) string {
	s := &pod.Spec
	if s.Affinity == nil && len(s.TopologySpreadConstraints) == 0 && len(s.NodeSelector) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(canonical(s.NodeSelector))
	if s.Affinity != nil {
		b.WriteString(s.Affinity.String())
	}
	for i := range s.TopologySpreadConstraints {
		b.WriteString(s.TopologySpreadConstraints[i].String())
	}
	if honoursTaints(pod) {
		for i := range s.Tolerations {
			b.WriteString(s.Tolerations[i].String())
		}
	}
	return b.String()
}

func honoursTaints(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	})
}

func canonical(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var buf [8]string
	keys := buf[:0]
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(k)
		b.WriteByte('=')
		b.WriteString(labels[k])
		b.WriteByte(',')
	}
	return b.String()
}
