package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/nodegroup"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
)

// defaultNodeDelay is how long a node is on its way where a group does not say.
const defaultNodeDelay = time.Minute

// nodeGroups turns a story's node groups into the plugin's.
func nodeGroups(story []v1alpha1.NodeGroup) ([]nodegroup.Group, error) {
	out := make([]nodegroup.Group, len(story))
	for i, g := range story {
		made, err := nodeGroup(g)
		if err != nil {
			return nil, fmt.Errorf("nodeGroups[%d]%w", i, err)
		}
		out[i] = made
		for _, other := range story[:i] {
			if other.Name == g.Name {
				return nil, fmt.Errorf("nodeGroups[%d].name: there are two groups %q", i, g.Name)
			}
		}
	}
	return out, nil
}

func nodeGroup(g v1alpha1.NodeGroup) (nodegroup.Group, error) {
	out := nodegroup.Group{Name: g.Name, Max: int(g.Max), Delay: defaultNodeDelay}
	if g.Delay != nil {
		out.Delay = g.Delay.Duration
	}
	wrong := validation.IsDNS1123Label(g.Name)
	switch {
	case len(wrong) > 0:
		return out, fmt.Errorf(".name: %q: %s", g.Name, wrong[0])
	case g.Max < 1:
		return out, fmt.Errorf(".max: %d: a group may add one node at least", g.Max)
	case out.Delay < 0:
		return out, fmt.Errorf(".delay: %s: time does not run backwards", out.Delay)
	case g.Template != nil && g.Like != "":
		return out, errors.New(": like and template exclude each other")
	case g.Template == nil:
		out.Node = func(world sim.Reader, name string) (*corev1.Node, error) {
			model, err := modelNode(world, g.Like)
			if err != nil {
				return nil, err
			}
			return alike(model, name), nil
		}
		return out, nil
	}
	model, err := templateNode(g.Template.Raw)
	if err != nil {
		return out, fmt.Errorf(".template: %w", err)
	}
	out.Node = func(_ sim.Reader, name string) (*corev1.Node, error) { return alike(model, name), nil }
	return out, nil
}

// templateNode is the node that a group's template describes.
func templateNode(raw []byte) (*corev1.Node, error) {
	raw, err := named(raw)
	if err != nil {
		return nil, err
	}
	set, err := manifest.Decode("template", raw, manifest.Strict)
	if err != nil {
		return nil, err
	}
	if len(set.Items) != 1 {
		return nil, errors.New("expected one Node")
	}
	node, ok := set.Items[0].Object.(*corev1.Node)
	if !ok {
		return nil, fmt.Errorf("expected a Node, not %s", manifest.Name(set.Items[0].Object))
	}
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity
	}
	if len(node.Status.Allocatable) == 0 {
		return nil, errors.New("status.capacity: a node without room takes no pods")
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[corev1.LabelHostname] = "" // each node's own
	return node, nil
}

// named gives a manifest a name, which a template need not have.
func named(raw []byte) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if _, has, _ := unstructured.NestedString(fields, "metadata", "name"); !has {
		if err := unstructured.SetNestedField(fields, "template", "metadata", "name"); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// modelNode is the node of that name, or the first there is.
func modelNode(world sim.Reader, name string) (*corev1.Node, error) {
	if name == "" {
		for _, obj := range world.List(sim.Nodes, "") {
			name = obj.GetName()
			break
		}
	}
	obj, _ := world.Get(sim.Nodes, "", name)
	node, ok := obj.(*corev1.Node)
	if !ok {
		return nil, fmt.Errorf("a node like which: there is no node %q", name)
	}
	return node, nil
}

// takers are the nodes that the scheduler would give a pod to.
func takers(world sim.Reader, v rollout.Version, pod *corev1.Pod) (names []string) {
	for _, a := range scheduler.Assess(world, v, pod) {
		if len(a.Reasons) == 0 {
			names = append(names, a.Node)
		}
	}
	return names
}

// checkGroups refuses node groups that cannot be.
func checkGroups(spec *v1alpha1.ScenarioSpec) error {
	_, err := nodeGroups(spec.NodeGroups)
	if err == nil {
		return nil
	}
	path, message, _ := strings.Cut(err.Error(), ": ")
	return &Wrong{path, errors.New(message)}
}
