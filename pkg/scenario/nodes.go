package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/disruption"
)

// nodeDeed is what a step does to one node.
type nodeDeed func(w *World, ctx context.Context, hand engine.Hand, s *v1alpha1.ScenarioStep, node trace.Ref) error

// nodeDeeds are the words of a step's node field.
var nodeDeeds = map[string]nodeDeed{
	"down":     (*World).nodeDown,
	"up":       (*World).nodeUp,
	"add":      (*World).nodeAdd,
	"delete":   (*World).nodeDelete,
	"cordon":   (*World).cordon,
	"uncordon": (*World).uncordon,
	"drain":    (*World).drain,
}

// nodeVerb is a step that is about nodes.
func (w *World) nodeVerb(s *v1alpha1.ScenarioStep, target trace.Ref) (func(context.Context, engine.Hand) error, error) {
	deed, ok := nodeDeeds[s.Node]
	switch {
	case !ok:
		return nil, fmt.Errorf("node: %q is nothing that happens to a node: use %s", s.Node, strings.Join(sortedKeys(nodeDeeds), ", "))
	case target.Kind != "Node":
		return nil, fmt.Errorf("target %q is not a node, to which %q could happen", s.Target, s.Node)
	}
	return func(ctx context.Context, hand engine.Hand) error {
		return w.each(target, s.First, func(ref trace.Ref) error { return deed(w, ctx, hand, s, ref) })
	}, nil
}

func (w *World) node(name string) (*corev1.Node, error) {
	if obj, ok := w.Stored().Get(sim.Nodes, "", name); ok {
		if node, ok := obj.(*corev1.Node); ok {
			return node, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

func (w *World) nodeDown(_ context.Context, _ engine.Hand, _ *v1alpha1.ScenarioStep, ref trace.Ref) error {
	if _, err := w.node(ref.Name); err != nil {
		return err
	}
	w.Hands(trace.ActorYou).Under(w.Kubelet.Disconnect(ref.Name), func() { w.Nodes.Lost(ref.Name) })
	return nil
}

func (w *World) nodeUp(_ context.Context, _ engine.Hand, _ *v1alpha1.ScenarioStep, ref trace.Ref) error {
	if _, err := w.node(ref.Name); err != nil {
		return err
	}
	w.Hands(trace.ActorYou).Under(w.Kubelet.Connect(ref.Name), func() { w.Nodes.Back(ref.Name) })
	return nil
}

// nodeAdd registers a node of the shape of another: its room, labels and taints.
func (w *World) nodeAdd(ctx context.Context, hand engine.Hand, s *v1alpha1.ScenarioStep, ref trace.Ref) error {
	model, err := modelNode(w.Stored(), s.Like)
	if err != nil {
		return err
	}
	_, err = hand.Apply(ctx, alike(model, ref.Name))
	return err
}

func alike(model *corev1.Node, name string) *corev1.Node {
	out := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(model.Labels)},
		Status: corev1.NodeStatus{
			Capacity: model.Status.Capacity.DeepCopy(), Allocatable: model.Status.Allocatable.DeepCopy(),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	if _, ok := out.Labels[corev1.LabelHostname]; ok {
		out.Labels[corev1.LabelHostname] = name
	}
	// What Kubernetes itself put there is about the other node's state.
	out.Spec.Taints = slices.DeleteFunc(slices.Clone(model.Spec.Taints), func(t corev1.Taint) bool {
		return strings.HasPrefix(t.Key, "node.kubernetes.io/")
	})
	return out
}

// nodeDelete is a machine that is gone, and its Node with it.
func (w *World) nodeDelete(ctx context.Context, hand engine.Hand, _ *v1alpha1.ScenarioStep, ref trace.Ref) error {
	if _, err := w.node(ref.Name); err != nil {
		return err
	}
	w.Kubelet.Disconnect(ref.Name)
	return hand.Delete(ctx, ref, "")
}

func (w *World) cordon(ctx context.Context, hand engine.Hand, _ *v1alpha1.ScenarioStep, ref trace.Ref) error {
	return w.setUnschedulable(ctx, hand, ref, true)
}

func (w *World) uncordon(ctx context.Context, hand engine.Hand, _ *v1alpha1.ScenarioStep, ref trace.Ref) error {
	return w.setUnschedulable(ctx, hand, ref, false)
}

func (w *World) setUnschedulable(ctx context.Context, hand engine.Hand, ref trace.Ref, desired bool) error {
	node, err := w.node(ref.Name)
	if err != nil || node.Spec.Unschedulable == desired {
		return err
	}
	out := *node
	out.Spec.Unschedulable = desired
	_, err = hand.Apply(ctx, &out)
	return err
}

func (w *World) drain(ctx context.Context, hand engine.Hand, s *v1alpha1.ScenarioStep, ref trace.Ref) error {
	if err := w.setUnschedulable(ctx, hand, ref, true); err != nil {
		return err
	}
	var opts disruption.DrainOptions
	if d := s.Drain; d != nil {
		opts = disruption.DrainOptions{
			IgnoreDaemonSets: d.IgnoreDaemonSets, DeleteEmptyDirData: d.DeleteEmptyDirData, Force: d.Force,
			DisableEviction: d.DisableEviction, GracePeriodSeconds: d.GracePeriodSeconds, Timeout: d.Timeout.Duration,
		}
	}
	h := w.Hands(trace.ActorYou)
	var err error
	h.Under(h.Emit(ref, trace.Changed{Verb: "drain"}), func() {
		err = disruption.Drain(h, ref.Name, opts, func(line string) { w.Warnings = append(w.Warnings, line) })
	})
	return err
}
