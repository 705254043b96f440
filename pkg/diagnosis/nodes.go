package diagnosis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// nodes are what the nodes hold against pods that find none: that there are no
// more of them, cordons and taints.
func (p *patient) nodes() []relaxation {
	all := p.search.nodes()
	if !p.suffers("Unschedulable") && !(p.suffers("NodeLost") && p.allLost(all)) {
		return nil
	}
	found := p.capacity(all)
	for _, node := range all {
		if node.Spec.Unschedulable {
			found = append(found, cordon(node))
		}
	}
	return append(found, p.taints(all)...)
}

func (s *search) nodes() (out []*corev1.Node) {
	for _, obj := range s.Objects {
		if node, ok := obj.(*corev1.Node); ok {
			out = append(out, node)
		}
	}
	return out
}

// capacity is one node more, or else as many as there are pods without one.
func (p *patient) capacity(all []*corev1.Node) []relaxation {
	model := p.model(all)
	if model == nil {
		return nil
	}
	text := plural(len(all), "node") + ", and none of them takes one more pod"
	if p.allLost(all) {
		text = "no node is ready: " + timeline.LostWords(p.search.tl.Lost())
	}
	r := relaxation{Constraint: p.constraint(v1alpha1.ConstraintCapacity, "%s", text)}
	for _, n := range slices.Compact([]int{1, p.unscheduled()}) {
		change := fmt.Sprintf("add %s such as %s", plural(n, "node"), model.Name)
		if n == 1 {
			change = fmt.Sprintf("add a %s node such as %s", ordinal(len(all)+1), model.Name)
		}
		r.ways = append(r.ways, way{change: change, relaxed: Relaxed{Nodes: alike(model, all, n)}})
	}
	return []relaxation{r}
}

// allLost says that there were nodes, and none is left that is ready.
func (p *patient) allLost(all []*corev1.Node) bool {
	lost := map[string]bool{}
	for _, l := range p.search.tl.Lost() {
		lost[l.Node] = true
	}
	return len(all) > 0 && !slices.ContainsFunc(all, func(node *corev1.Node) bool { return !lost[node.Name] })
}

// model is a node that takes such pods, or would if it were not lost.
func (p *patient) model(all []*corev1.Node) *corev1.Node {
	if node := p.fit(all); node != nil {
		return node
	}
	risen := make([]*corev1.Node, len(all))
	for i, node := range all {
		risen[i] = awake(node)
	}
	return p.fit(risen)
}

// fit is a node that takes such pods: one that has some, or else the first that
// is fit for service.
func (p *patient) fit(all []*corev1.Node) *corev1.Node {
	var first *corev1.Node
	for _, node := range all {
		if node.Spec.Unschedulable || p.untolerated(node) != nil {
			continue
		}
		if first == nil {
			first = node
		}
		if slices.ContainsFunc(p.workload.Pods, func(pod *podOf) bool { return pod.Active() && pod.Node == node.Name }) {
			return node
		}
	}
	return first
}

func (p *patient) untolerated(node *corev1.Node) *corev1.Taint {
	taint, found := schedulinghelpers.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, p.template.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
	if !found {
		return nil
	}
	return &taint
}

// alike are n new nodes of a node's shape, with the next names of its series.
func alike(model *corev1.Node, all []*corev1.Node, n int) []*corev1.Node {
	taken := map[string]bool{}
	for _, node := range all {
		taken[node.Name] = true
	}
	stem := strings.TrimRight(model.Name, "0123456789")
	if stem == model.Name || stem == "" {
		stem = model.Name + "-"
	}
	var out []*corev1.Node
	for number := 2; len(out) < n; number++ {
		name := stem + strconv.Itoa(number)
		if taken[name] {
			continue
		}
		node := awake(model)
		node.Name, node.UID, node.ResourceVersion = name, "", ""
		if node.Labels[corev1.LabelHostname] != "" {
			node.Labels[corev1.LabelHostname] = name
		}
		out = append(out, node)
	}
	return out
}

// awake is a copy of a node as it is while its kubelet answers.
func awake(node *corev1.Node) *corev1.Node {
	node = node.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return slices.Contains(silence, t.Key) })
	for i := range node.Status.Conditions {
		switch c := &node.Status.Conditions[i]; {
		case c.Type == corev1.NodeReady:
			c.Status = corev1.ConditionTrue
		case c.Status == corev1.ConditionUnknown:
			c.Status = corev1.ConditionFalse
		}
	}
	return node
}

func cordon(node *corev1.Node) relaxation {
	name := node.Name
	return relaxation{
		Constraint: v1alpha1.Constraint{Type: v1alpha1.ConstraintCordon, Object: trace.Ref{Kind: "Node", Name: name}, Message: fmt.Sprintf("node %s is cordoned", name)},
		ways: []way{{change: "uncordon node " + name, relaxed: Relaxed{Edit: func(obj Object) Object {
			n, ok := obj.(*corev1.Node)
			if !ok || n.Name != name {
				return obj
			}
			n = n.DeepCopy()
			n.Spec.Unschedulable = false
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
			return n
		}}}},
	}
}

// taints are those of nodes that the pods do not tolerate, each once. Those
// that Kubernetes sets itself are about the node's state, not about its pods.
func (p *patient) taints(all []*corev1.Node) []relaxation {
	var found []relaxation
	seen := map[string]bool{}
	for _, node := range all {
		taint := p.untolerated(node)
		if taint == nil || strings.HasPrefix(taint.Key, "node.kubernetes.io/") || seen[taint.ToString()] {
			continue
		}
		seen[taint.ToString()] = true
		found = append(found, relaxation{
			Constraint: v1alpha1.Constraint{Type: v1alpha1.ConstraintTaint, Object: trace.Ref{Kind: "Node", Name: node.Name},
				Message: fmt.Sprintf("taint %s of node %s is not tolerated", taint.ToString(), node.Name)},
			ways: []way{{change: "tolerate taint " + taint.ToString(), relaxed: p.pods(func(spec *corev1.PodSpec) {
				spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect})
			})}},
		})
	}
	return found
}

// shortToleration is how many seconds a pod is left on a lost node when one does not want to wait.
const shortToleration = 30

// silence are the taints of a node whose kubelet does not answer, or not well.
var silence = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// lostNodes are why pods of a node that died are replaced so late.
func (p *patient) lostNodes() []relaxation {
	for _, e := range p.search.Plan.Events {
		taint, ok := e.Detail.(trace.Tainted)
		if !ok || taint.Removed || !strings.HasSuffix(taint.Taint, ":NoExecute") {
			continue
		}
		key := strings.TrimSuffix(taint.Taint, ":NoExecute")
		if !slices.Contains(silence, key) {
			continue
		}
		return []relaxation{{
			Constraint: p.constraint(v1alpha1.ConstraintToleration, "its pods tolerate %s for %s, and stay bound to node %s for so long", key, p.tolerated(key), e.Object.Name),
			ways: []way{{
				change:  fmt.Sprintf("tolerationSeconds %d for %s and %s", shortToleration, silence[0], silence[1]),
				relaxed: p.pods(func(spec *corev1.PodSpec) { tolerate(spec, silence, shortToleration) }),
			}},
		}}
	}
	return nil
}

// tolerated words how long the template lets pods stay; by default the server
// fills in 300 s.
func (p *patient) tolerated(key string) string {
	for _, t := range p.template.Spec.Tolerations {
		if (t.Key == key || t.Key == "") && (t.Effect == "" || t.Effect == corev1.TaintEffectNoExecute) {
			if t.TolerationSeconds == nil {
				return "ever"
			}
			return fmt.Sprintf("%ds", *t.TolerationSeconds)
		}
	}
	return "300s (the default)"
}

func tolerate(spec *corev1.PodSpec, keys []string, seconds int64) {
	spec.Tolerations = slices.DeleteFunc(slices.Clone(spec.Tolerations), func(t corev1.Toleration) bool { return t.Key == "" || slices.Contains(keys, t.Key) })
	for _, key := range keys {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
