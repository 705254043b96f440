package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// occasion is a kind of change that may let a pod in that was refused before.
type occasion uint8

const (
	podGone     occasion = 1 << iota // a pod left its node
	podPlaced                        // a pod came to a node, or its labels changed
	nodeAdded                        // a node is new
	nodeChanged                      // a node's labels, taints, room or schedulability changed
	anything    = podGone | podPlaced | nodeAdded | nodeChanged
)

// refusal is why a node does not take a pod. Unresolvable means that removing
// pods from the node would not help.
type refusal struct {
	reasons      []string
	unresolvable bool
	wakes        occasion // what may change the answer
}

// filter is one rule a node must pass.
type filter interface {
	// refuses returns nil when the node may take the pod.
	refuses(p *pending, n *node) *refusal
}

// filters are the default ones in the default order; a pod gets the reasons of
// the first that refuses (apis/config/v1/default_plugins.go).
func filters(taintReason func(corev1.Taint) string) []filter {
	return []filter{
		unschedulable{}, nodeName{}, taints{taintReason}, nodeAffinity{}, nodePorts{}, fit{}, interPod{},
	}
}

// pending is a pod to be placed with what the rules need to know of it, read once.
type pending struct {
	pod      *corev1.Pod
	owner    types.UID // of its controller
	kin      []*group  // the groups of that owner
	asked    amounts
	scored   amounts
	others   []corev1.ResourceName
	ports    []hostPort
	affinity nodeaffinity.RequiredNodeAffinity
	// picky pods have a node selector or affinity.
	picky bool
	inter interState
}

func refuse(unresolvable bool, wakes occasion, reasons ...string) *refusal {
	return &refusal{reasons: reasons, unresolvable: unresolvable, wakes: wakes}
}

type unschedulable struct{}

var cordoned = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

func (unschedulable) refuses(p *pending, n *node) *refusal {
	if !n.cordoned || tolerates(p.pod.Spec.Tolerations, &cordoned) {
		return nil
	}
	return refuse(true, nodeAdded|nodeChanged, "node(s) were unschedulable")
}

func tolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	return schedulinghelpers.TolerationsTolerateTaint(klog.Logger{}, tolerations, taint, false)
}

type nodeName struct{}

func (nodeName) refuses(p *pending, n *node) *refusal {
	if p.pod.Spec.NodeName == "" || p.pod.Spec.NodeName == n.name {
		return nil
	}
	return refuse(true, nodeAdded, "node(s) didn't match the requested node name")
}

type taints struct{ reason func(corev1.Taint) string }

func (f taints) refuses(p *pending, n *node) *refusal {
	for i := range n.obj.Spec.Taints {
		t := &n.obj.Spec.Taints[i]
		hard := t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		if hard && !tolerates(p.pod.Spec.Tolerations, t) {
			return refuse(true, nodeAdded|nodeChanged, f.reason(*t))
		}
	}
	return nil
}

type nodeAffinity struct{}

func (nodeAffinity) refuses(p *pending, n *node) *refusal {
	if !p.picky {
		return nil
	}
	if ok, err := p.affinity.Match(n.obj); ok && err == nil {
		return nil
	}
	return refuse(true, nodeAdded|nodeChanged, "node(s) didn't match Pod's node affinity/selector")
}

type nodePorts struct{}

func (nodePorts) refuses(p *pending, n *node) *refusal {
	for _, port := range p.ports {
		if n.ports.taken(port) {
			return refuse(false, podGone|nodeAdded, "node(s) didn't have free ports for the requested pod ports")
		}
	}
	return nil
}

// fit compares requests with what is left (noderesources/fit.go fitsRequest).
type fit struct{}

func (fit) refuses(p *pending, n *node) *refusal {
	var r *refusal
	lacks := func(reason string, never bool) {
		if r == nil {
			r = refuse(false, podGone|nodeAdded|nodeChanged)
		}
		r.reasons = append(r.reasons, reason)
		r.unresolvable = r.unresolvable || never
	}
	if n.count+1 > n.maxPods {
		lacks("Too many pods", false)
	}
	short := func(name string, asked, used, room int64) {
		if asked > 0 && asked > room-used {
			lacks(fmt.Sprintf("Insufficient %s", name), asked > room)
		}
	}
	short("cpu", p.asked.cpu, n.used.cpu, n.allocatable.cpu)
	short("memory", p.asked.memory, n.used.memory, n.allocatable.memory)
	short("ephemeral-storage", p.asked.storage, n.used.storage, n.allocatable.storage)
	for _, name := range p.others {
		short(string(name), p.asked.others[name], n.used.others[name], n.allocatable.others[name])
	}
	return r
}
