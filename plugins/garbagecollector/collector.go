// Package garbagecollector deletes objects whose owners are gone, sees
// foreground deletions through and sets dependents free of an owner that is
// deleted without them.
package garbagecollector

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The collector's client may send twice as many requests as other controllers',
// since a deletion takes two (cmd/kube-controller-manager/app/core.go
// startGarbageCollectorController).
const (
	clientQPS   = 40
	clientBurst = 30
	// firstRetry is the wait after a failure; it doubles up to lastRetry.
	firstRetry = 5 * time.Millisecond
	lastRetry  = 1000 * time.Second
)

// Plugin is the garbage collector.
type Plugin struct {
	h        *sim.Hands
	graph    *graph
	pending  map[job]bool
	failures map[job]int
	// absent are owners that were missing when the world began: what they own
	// came without them, and is left alone.
	absent map[types.UID]bool
	tokens float64
	filled time.Time
}

// job is one piece of work: an object to look at, or an owner whose dependents
// are to be set free.
type job struct {
	uid    types.UID
	orphan bool
}

// New makes a garbage collector.
func New() *Plugin {
	return &Plugin{graph: newGraph(), pending: map[job]bool{}, failures: map[job]int{}, absent: map[types.UID]bool{}}
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "garbagecollector" }

// owning are the resources that own or are owned.
var owning = []string{sim.Deployments, sim.ReplicaSets, sim.Pods}

// Start watches what can own or be owned.
func (p *Plugin) Start(h *sim.Hands) {
	p.h, p.tokens, p.filled = h, clientBurst, h.Now()
	for _, resource := range owning {
		for _, obj := range h.Stored().List(resource, "") {
			p.noteAbsent(obj)
		}
	}
	for _, resource := range owning {
		h.Follow(resource, func(c engine.Change, _ int) { p.observe(resource, c) })
	}
}

func (p *Plugin) noteAbsent(obj sim.Object) {
	for _, ref := range obj.GetOwnerReferences() {
		if _, known := p.owner(ref, obj.GetNamespace()); known == ownerGone {
			p.absent[ref.UID] = true
		}
	}
}

func (p *Plugin) observe(resource string, c engine.Change) {
	obj, ok := c.New.(sim.Object)
	if !ok {
		return
	}
	if c.Verb == engine.Deleted {
		p.gone(obj)
		return
	}
	if old, ok := c.Old.(sim.Object); ok && old.GetDeletionTimestamp() == nil && obj.GetDeletionTimestamp() == nil &&
		sameList(old.GetOwnerReferences(), obj.GetOwnerReferences()) {
		return // nothing that matters here has changed
	}
	n, isNew, lost := p.graph.set(resource, obj)
	p.unblock(lost)
	switch {
	case obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		p.add(job{n.uid, true})
	case obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		if !n.clearing {
			n.clearing = true
			for _, dep := range n.dependents.list() {
				p.add(job{dep.uid, false})
			}
			p.add(job{n.uid, false})
		}
	case isNew && p.ownerUnseen(obj):
		p.add(job{n.uid, false})
	}
}

// ownerUnseen: an owner that no watch has shown may be gone already.
func (p *Plugin) ownerUnseen(obj sim.Object) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return p.graph.nodes[ref.UID] == nil && !p.absent[ref.UID]
	})
}

// gone looks after those an object leaves behind, and those that waited for it to go.
func (p *Plugin) gone(obj sim.Object) {
	for _, dep := range p.graph.drop(obj.GetUID()) {
		p.add(job{dep.uid, false})
	}
	p.unblock(obj.GetOwnerReferences())
}

// unblock looks again at owners that wait in the foreground.
func (p *Plugin) unblock(refs []metav1.OwnerReference) {
	for _, ref := range refs {
		if n := p.graph.nodes[ref.UID]; n != nil && n.clearing {
			p.add(job{n.uid, false})
		}
	}
}

// add queues a job; one that is queued already is not queued twice.
func (p *Plugin) add(j job) { p.addAfter(j, p.token()+p.h.Latency(sim.CollectDependent)) }

func (p *Plugin) addAfter(j job, d time.Duration) {
	if p.pending[j] {
		return
	}
	p.pending[j] = true
	p.h.After(d, func() {
		delete(p.pending, j)
		p.work(j)
	})
}

// token is how long two requests of the collector's client have to wait.
func (p *Plugin) token() time.Duration {
	if p.h.Settling() || p.h.Instant() {
		return 0
	}
	now := p.h.Now()
	p.tokens = min(clientBurst, p.tokens+now.Sub(p.filled).Seconds()*clientQPS) - 2
	p.filled = now
	return time.Duration(max(-p.tokens, 0) / clientQPS * float64(time.Second))
}

func (p *Plugin) work(j job) {
	n := p.graph.nodes[j.uid]
	if n == nil {
		return
	}
	var err error
	if j.orphan {
		err = p.orphan(n)
	} else {
		err = p.collect(n)
	}
	if err == nil {
		delete(p.failures, j)
		return
	}
	wait := lastRetry
	if shift := p.failures[j]; shift < 18 {
		wait = min(wait, firstRetry<<shift)
	}
	p.failures[j]++
	p.addAfter(j, wait)
}

// latest is a node's object as the API server has it.
func (p *Plugin) latest(n *node) (sim.Object, bool) {
	obj, ok := p.h.Stored().Get(n.resource, n.namespace, n.name)
	return obj, ok && obj.GetUID() == n.uid
}

func refOfOwner(ref metav1.OwnerReference, namespace string) trace.Ref {
	return trace.Ref{Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
}
