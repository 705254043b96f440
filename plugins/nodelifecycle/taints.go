package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The taints that evict.
var (
	notReady    = corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}
	unreachable = corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
)

// barring is the key of the NoSchedule taint that a condition's status brings.
var barring = map[corev1.NodeConditionType]map[corev1.ConditionStatus]string{
	corev1.NodeReady: {
		corev1.ConditionFalse: corev1.TaintNodeNotReady, corev1.ConditionUnknown: corev1.TaintNodeUnreachable,
	},
	corev1.NodeMemoryPressure:     {corev1.ConditionTrue: corev1.TaintNodeMemoryPressure},
	corev1.NodeDiskPressure:       {corev1.ConditionTrue: corev1.TaintNodeDiskPressure},
	corev1.NodePIDPressure:        {corev1.ConditionTrue: corev1.TaintNodePIDPressure},
	corev1.NodeNetworkUnavailable: {corev1.ConditionTrue: corev1.TaintNodeNetworkUnavailable},
}

// managed says that a taint comes and goes with the node's conditions.
func managed(t corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable, corev1.TaintNodeUnschedulable:
		return t.Effect == corev1.TaintEffectNoSchedule
	}
	return false
}

func tainted(node *corev1.Node, t corev1.Taint) bool { return hasTaint(node.Spec.Taints, t) }

func hasTaint(taints []corev1.Taint, t corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(have corev1.Taint) bool { return have.MatchTaint(&t) })
}

// reconcileNoSchedule keeps new pods from a node as long as its conditions, or
// a cordon, say so (doNoScheduleTaintingPass).
func (p *Plugin) reconcileNoSchedule(node *corev1.Node) {
	var wanted, add, remove []corev1.Taint
	for _, c := range node.Status.Conditions {
		if key := barring[c.Type][c.Status]; key != "" {
			wanted = append(wanted, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	if node.Spec.Unschedulable {
		wanted = append(wanted, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	for _, t := range wanted {
		if !tainted(node, t) {
			add = append(add, t)
		}
	}
	for _, t := range node.Spec.Taints {
		if managed(t) && !hasTaint(wanted, t) {
			remove = append(remove, t)
		}
	}
	if len(add)+len(remove) > 0 {
		p.calls.add(func() { p.swap(node, add, remove) })
	}
}

// swap adds taints to a node and then takes others off it, each in one write
// (SwapNodeControllerTaint). Node is what the controller saw.
func (p *Plugin) swap(node *corev1.Node, add, remove []corev1.Taint) {
	now := metav1.NewTime(p.h.Now().Truncate(time.Second))
	p.retaint(node.Name, func(taints []corev1.Taint) []corev1.Taint {
		for _, t := range add {
			if !hasTaint(taints, t) {
				t.TimeAdded = &now
				taints = append(taints, t)
			}
		}
		return taints
	})
	if slices.ContainsFunc(remove, func(t corev1.Taint) bool { return tainted(node, t) }) {
		p.untaint(node.Name, remove)
	}
}

func (p *Plugin) untaint(name string, remove []corev1.Taint) {
	p.retaint(name, func(taints []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(taints, func(t corev1.Taint) bool { return hasTaint(remove, t) })
	})
}

// retaint changes the taints of a node as it is stored now. A refused write is
// made up for in the next round.
func (p *Plugin) retaint(name string, change func([]corev1.Taint) []corev1.Taint) {
	node, ok := p.stored(name)
	if !ok {
		return
	}
	out := *node
	out.Spec.Taints = change(slices.Clone(node.Spec.Taints))
	if len(out.Spec.Taints) == len(node.Spec.Taints) {
		return
	}
	if _, err := p.h.Update(&out); err != nil {
		p.wake()
	}
}
