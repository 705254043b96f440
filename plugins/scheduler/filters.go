package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// refusal is why a node does not take a pod. Unresolvable means that removing
// pods from the node would not help.
type refusal struct {
	reasons      []string
	unresolvable bool
}

// filter is one rule a node must pass.
type filter interface {
	// skips says that the filter has no say about the pod on any node, as
	// upstream's do that answer PreFilter with Skip.
	skips(p *pending) bool
	// refuses returns nil when the node may take the pod.
	refuses(p *pending, n *node) *refusal
	// helps says whether a change may make the filter change its mind.
	helps(c *cluster, pod *corev1.Pod, ch change) bool
}

// filters are the default ones in the default order; a pod gets the reasons of
// the first that refuses (apis/config/v1/default_plugins.go).
func filters(v rollout.Version) []filter {
	return []filter{
		nodeName{}, unschedulable{}, taints{named: !v.CountsTaintsTogether()}, nodeAffinity{}, nodePorts{}, fit{},
		volumeRestrictions{}, volumeBinding{}, volumeZone{}, spread{}, interPod{},
	}
}

// Places of filters in that order.
const (
	nodeAffinityAt  = 3
	fitAt           = 5
	volumeBindingAt = 7
)

// pending is a pod to be placed with what the rules need to know of it, read once.
type pending struct {
	pod     *corev1.Pod
	cluster *cluster
	group   *group
	view    *outlook
	need    *need
	ports   []hostPort
	volumes *volumes // nil when it has none that matter
	heard   blockers // the filters that have a say
	// only are the nodes that its node affinity names; nil when it names none.
	only map[string]bool
	// barred is why no node needs to be looked at, in upstream's words.
	barred string
}

// Refusals that say the same of every node.
var (
	errCordoned  = refuse(true, "node(s) were unschedulable")
	errName      = refuse(true, "node(s) didn't match the requested node name")
	errTogether  = refuse(true, "node(s) had untolerated taint(s)")
	errSelector  = refuse(true, "node(s) didn't match Pod's node affinity/selector")
	errPorts     = refuse(false, "node(s) didn't have free ports for the requested pod ports")
	errWanted    = refuse(true, "node(s) didn't match pod affinity rules")
	errAvoided   = refuse(false, "node(s) didn't match pod anti-affinity rules")
	errShunned   = refuse(false, "node(s) didn't satisfy existing pods anti-affinity rules")
	errUnlabeled = refuse(true, "node(s) didn't match pod topology spread constraints (missing required label)")
	errSkewed    = refuse(false, "node(s) didn't match pod topology spread constraints")
)

func refuse(unresolvable bool, reasons ...string) *refusal {
	return &refusal{reasons: reasons, unresolvable: unresolvable}
}

type unschedulable struct{}

var cordoned = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

func (unschedulable) skips(p *pending) bool { return p.cluster.cordoned == 0 }

func (unschedulable) refuses(p *pending, n *node) *refusal {
	if !n.cordoned || tolerates(p.pod.Spec.Tolerations, &cordoned) {
		return nil
	}
	return errCordoned
}

func tolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	return schedulinghelpers.TolerationsTolerateTaint(klog.Logger{}, tolerations, taint, false)
}

type nodeName struct{}

func (nodeName) skips(p *pending) bool { return p.pod.Spec.NodeName == "" }

func (nodeName) refuses(p *pending, n *node) *refusal {
	if p.pod.Spec.NodeName == "" || p.pod.Spec.NodeName == n.name {
		return nil
	}
	return errName
}

// taints says which taint it was where the release does.
type taints struct{ named bool }

func (taints) skips(p *pending) bool { return p.cluster.hard == 0 }

func (f taints) refuses(p *pending, n *node) *refusal {
	if !n.hard {
		return nil
	}
	if t := hardTaint(n.obj, p.pod.Spec.Tolerations); t != nil {
		if f.named {
			return refuse(true, fmt.Sprintf("node(s) had untolerated taint {%s: %s}", t.Key, t.Value))
		}
		return errTogether
	}
	return nil
}

// hardTaint is the first taint of a node that keeps a pod away.
func hardTaint(n *corev1.Node, tolerations []corev1.Toleration) *corev1.Taint {
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		hard := t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		if hard && !tolerates(tolerations, t) {
			return t
		}
	}
	return nil
}

type nodeAffinity struct{}

func (nodeAffinity) skips(p *pending) bool { return !p.view.picky }

func (nodeAffinity) refuses(p *pending, n *node) *refusal {
	if !p.view.picky {
		return nil
	}
	if ok, err := p.view.affinity.Match(n.obj); ok && err == nil {
		return nil
	}
	return errSelector
}

type nodePorts struct{}

func (nodePorts) skips(p *pending) bool { return len(p.ports) == 0 }

func (nodePorts) refuses(p *pending, n *node) *refusal {
	for _, port := range p.ports {
		if n.ports.taken(port) {
			return errPorts
		}
	}
	return nil
}

// appraisal is what a node's room is worth to a pod. Pods of a template need the
// same, so that it is remembered until the node or what is on it changes.
type appraisal struct {
	to      *need    // nil when nothing is remembered
	refusal *refusal // of the fit filter
	points  int64    // the scores about room together; none where the pod does not fit
}

func (n *node) appraise(d *need) *appraisal {
	if n.room.to != d {
		n.room = n.appraised(d)
	}
	return &n.room
}

func (n *node) appraised(d *need) appraisal {
	if r := n.lacks(d); r != nil {
		return appraisal{to: d, refusal: r}
	}
	return appraisal{to: d, points: n.leastAllocated(d) + n.balanced(d)}
}

// fit compares requests with what is left (noderesources/fit.go fitsRequest).
type fit struct{}

func (fit) skips(*pending) bool { return false }

func (fit) refuses(p *pending, n *node) *refusal { return n.appraise(p.need).refusal }

// lacks is what a node has too little of; nil when there is room.
func (n *node) lacks(d *need) *refusal {
	var r *refusal
	lacks := func(reason string, never bool) {
		if r == nil {
			r = refuse(false)
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
	short("cpu", d.asked.cpu, n.used.cpu, n.allocatable.cpu)
	short("memory", d.asked.memory, n.used.memory, n.allocatable.memory)
	short("ephemeral-storage", d.asked.storage, n.used.storage, n.allocatable.storage)
	for _, name := range d.others {
		short(string(name), d.asked.others[name], n.used.others[name], n.allocatable.others[name])
	}
	return r
}
