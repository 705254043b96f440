// Package tainteviction deletes pods from nodes with NoExecute taints, at once
// or after the seconds that their tolerations allow (upstream
// pkg/controller/tainteviction). Disruption budgets have no say in it.
package tainteviction

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Plugin is the taint eviction controller.
type Plugin struct {
	h       *sim.Hands
	began   time.Time
	tainted map[string]taints // nodes that have any
	due     map[types.NamespacedName]*eviction
	pods    bool // pods are being watched
}

// taints are a node's NoExecute taints and the event that put them there.
type taints struct {
	list  []corev1.Taint
	cause trace.Seq
}

// eviction is a deletion that is due later.
type eviction struct {
	created time.Time
	timer   *sim.Timer
}

// New makes the controller.
func New() *Plugin {
	return &Plugin{tainted: map[string]taints{}, due: map[types.NamespacedName]*eviction{}}
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "tainteviction" }

// Start watches nodes; pods are of no interest before a node is tainted.
func (p *Plugin) Start(h *sim.Hands) {
	p.h, p.began = h, h.Now()
	h.Watch(sim.Nodes, p.observeNode)
}

func (p *Plugin) observeNode(c engine.Change) {
	node, ok := c.New.(*corev1.Node)
	if !ok {
		return
	}
	if c.Verb == engine.Deleted {
		delete(p.tainted, node.Name)
		return
	}
	list, had := noExecute(node), p.tainted[node.Name].list
	if len(list) == len(had) && (len(list) == 0 || equality.Semantic.DeepEqual(list, had)) {
		return
	}
	has := taints{list, p.h.Cause()}
	if p.tainted[node.Name] = has; len(list) == 0 {
		delete(p.tainted, node.Name)
	}
	if !p.pods { // which brings all pods there are
		p.pods = true
		p.h.Watch(sim.Pods, p.observePod)
		return
	}
	for _, obj := range p.h.Cached().List(sim.Pods, "") {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName == node.Name {
			p.weigh(pod, has)
		}
	}
}

func noExecute(node *corev1.Node) (out []corev1.Taint) {
	for _, t := range node.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			out = append(out, t)
		}
	}
	return out
}

func (p *Plugin) observePod(c engine.Change) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok {
		return
	}
	if c.Verb == engine.Deleted {
		p.cancel(pod)
		return
	}
	if old, ok := c.Old.(*corev1.Pod); ok && old.Spec.NodeName == pod.Spec.NodeName && sameTolerations(old, pod) {
		return
	}
	if has, ok := p.tainted[pod.Spec.NodeName]; ok {
		p.h.Under(has.cause, func() { p.weigh(pod, has) })
	}
}

func sameTolerations(a, b *corev1.Pod) bool {
	return equality.Semantic.DeepEqual(a.Spec.Tolerations, b.Spec.Tolerations)
}

// weigh decides what becomes of a pod on a node with these taints
// (processPodOnNode). A shorter toleration does not hasten an eviction that is
// due already, and another taint does not delay it.
func (p *Plugin) weigh(pod *corev1.Pod, on taints) {
	if len(on.list) == 0 {
		p.cancel(pod)
		return
	}
	seconds, tolerated := tolerance(pod, on.list)
	due, names := p.due[keyOf(pod)], said(on.list)
	switch {
	case !tolerated:
		p.cancel(pod)
		p.evict(keyOf(pod), "does not tolerate "+names)
	case seconds < 0:
		p.cancel(pod)
	case due != nil && due.created.Before(p.h.Now()):
	default:
		p.cancel(pod)
		span := time.Duration(seconds) * time.Second
		p.plan(keyOf(pod), p.since(on.list), span, fmt.Sprintf("tolerated %s for %s", names, span))
	}
}

// since is when an eviction was decided: now, unless the taint is from before
// the run, in which the controller has known it all along.
func (p *Plugin) since(list []corev1.Taint) time.Time {
	at := p.h.Now()
	if !at.Equal(p.began) {
		return at
	}
	for _, t := range list {
		if t.TimeAdded != nil && t.TimeAdded.Time.Before(at) {
			at = t.TimeAdded.Time
		}
	}
	return at
}

// plan sets the clock for a deletion.
func (p *Plugin) plan(key types.NamespacedName, created time.Time, after time.Duration, why string) {
	wait := max(created.Add(after).Sub(p.h.Now()), 0)
	if wait == 0 {
		p.evict(key, why)
		return
	}
	p.h.Under(p.h.Emit(refOf(key), trace.Requeued{After: wait, Why: "TolerationSeconds"}), func() {
		p.due[key] = &eviction{created: created, timer: p.h.After(wait, func() {
			delete(p.due, key)
			p.evict(key, why)
		})}
	})
}

// cancel takes back an eviction that is due later, and says so.
func (p *Plugin) cancel(pod *corev1.Pod) {
	key := keyOf(pod)
	if e := p.due[key]; e != nil && p.h.Stop(e.timer) {
		p.h.Event(pod, corev1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod "+key.String())
	}
	delete(p.due, key)
}

func keyOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func refOf(key types.NamespacedName) trace.Ref {
	return trace.Ref{Kind: "Pod", Namespace: key.Namespace, Name: key.Name}
}

// said names taints in a message.
func said(list []corev1.Taint) string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].ToString()
	}
	return strings.Join(names, ", ")
}

// tolerance is for how many seconds a pod tolerates taints: -1 is for ever.
// False says that it does not tolerate them all (GetMatchingTolerations, getMinTolerationTime).
func tolerance(pod *corev1.Pod, list []corev1.Taint) (seconds int64, tolerated bool) {
	seconds = -1
	for i := range list {
		j := slices.IndexFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Logger{}, &list[i], false) })
		if j < 0 {
			return 0, false
		}
		if s := pod.Spec.Tolerations[j].TolerationSeconds; s != nil && (seconds < 0 || *s < seconds) {
			seconds = max(*s, 0)
		}
	}
	return seconds, true
}
