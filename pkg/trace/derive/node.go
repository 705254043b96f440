package derive

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Node emits what a write changed in a node: its conditions and its taints.
func Node(node, old *corev1.Node, emit Emit) {
	conditions(node.Status.Conditions, old.Status.Conditions, nodeCondition, emit)
	for i := range node.Spec.Taints {
		if !hasTaint(old, &node.Spec.Taints[i]) {
			emit(trace.Tainted{Taint: node.Spec.Taints[i].ToString()})
		}
	}
	for i := range old.Spec.Taints {
		if !hasTaint(node, &old.Spec.Taints[i]) {
			emit(trace.Tainted{Taint: old.Spec.Taints[i].ToString(), Removed: true})
		}
	}
}

// FoundNode emits that a node is not ready when a run begins.
func FoundNode(node *corev1.Node, emit Emit) {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			emit(nodeCondition(c))
		}
	}
}

// hasTaint compares by key and effect, of which a node has each pair once.
func hasTaint(node *corev1.Node, t *corev1.Taint) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(have corev1.Taint) bool { return have.MatchTaint(t) })
}

func nodeCondition(c *corev1.NodeCondition) trace.ConditionChanged {
	return trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message}
}
