package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// NodeTaint is the TaintNodesByCondition admission plugin: a new node takes no
// pods until the node lifecycle controller has seen that it is ready.
type NodeTaint struct{}

// NewNodeTaint makes the plugin.
func NewNodeTaint() *NodeTaint { return &NodeTaint{} }

// Name is the upstream plugin's.
func (n *NodeTaint) Name() string { return "TaintNodesByCondition" }

// Start has nothing to begin.
func (n *NodeTaint) Start(*sim.Hands) {}

// Validate refuses nothing.
func (n *NodeTaint) Validate(*sim.Request) error { return nil }

// Mutate taints a node as it is created (plugin/pkg/admission/nodetaint Admit).
func (n *NodeTaint) Mutate(req *sim.Request) error {
	node, ok := req.New.(*corev1.Node)
	if !ok || req.Verb != "create" || req.Subresource != "" {
		return nil
	}
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(slices.Clip(node.Spec.Taints), taint)
	}
	return nil
}
