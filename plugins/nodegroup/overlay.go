package nodegroup

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// overlay is the world with the nodes that are on their way, and pods on them.
type overlay struct {
	sim.Reader
	nodes []*corev1.Node
	pods  map[string]*corev1.Pod // placed, by namespace/name
}

// sky is the world with what is ordered. A node that has joined is itself from
// the moment it takes pods.
func (p *Plugin) sky() *overlay {
	o := &overlay{Reader: p.h.Stored(), pods: map[string]*corev1.Pod{}}
	for _, g := range p.groups {
		g.coming = slices.DeleteFunc(g.coming, func(node *corev1.Node) bool {
			obj, there := o.Reader.Get(sim.Nodes, "", node.Name)
			real, ok := obj.(*corev1.Node)
			return there && ok && !slices.ContainsFunc(real.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
		})
		o.nodes = append(o.nodes, g.coming...)
	}
	return o
}

func (o *overlay) isNew(name string) bool {
	return slices.ContainsFunc(o.nodes, func(n *corev1.Node) bool { return n.Name == name })
}

func (o *overlay) add(node *corev1.Node) { o.nodes = append(o.nodes, node) }

func (o *overlay) remove(node *corev1.Node) {
	o.nodes = slices.DeleteFunc(o.nodes, func(n *corev1.Node) bool { return n == node })
}

func (o *overlay) place(pod *corev1.Pod, node string) {
	placed := *pod
	placed.Spec.NodeName = node
	o.pods[pod.Namespace+"/"+pod.Name] = &placed
}

// Get is the object as it would be.
func (o *overlay) Get(resource, namespace, name string) (sim.Object, bool) {
	switch resource {
	case sim.Nodes:
		if i := slices.IndexFunc(o.nodes, func(n *corev1.Node) bool { return n.Name == name }); i >= 0 {
			return o.nodes[i], true
		}
	case sim.Pods:
		if pod, ok := o.pods[namespace+"/"+name]; ok {
			return pod, true
		}
	}
	return o.Reader.Get(resource, namespace, name)
}

// List are the objects as they would be.
func (o *overlay) List(resource, namespace string) []sim.Object {
	all := o.Reader.List(resource, namespace)
	switch resource {
	case sim.Nodes:
		all = slices.DeleteFunc(slices.Clone(all), func(obj sim.Object) bool { return o.isNew(obj.GetName()) })
		for _, node := range o.nodes {
			all = append(all, node)
		}
	case sim.Pods:
		all = slices.Clone(all)
		for i, obj := range all {
			if pod, ok := o.pods[obj.GetNamespace()+"/"+obj.GetName()]; ok {
				all[i] = pod
			}
		}
	}
	return all
}
