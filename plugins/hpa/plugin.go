// Package hpa is the HorizontalPodAutoscaler controller (upstream
// pkg/controller/podautoscaler) and the metrics it reads, which come from a
// model of the load instead of from a metrics server.
package hpa

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// What kube-controller-manager's --horizontal-pod-autoscaler-* flags say by default.
const (
	syncPeriod             = 15 * time.Second
	downscaleStabilization = 5 * time.Minute
	cpuInitialization      = 5 * time.Minute
	initialReadiness       = 30 * time.Second
	defaultTolerance       = 0.1
)

// Plugin is the controller. An autoscaler none of whose metrics has a load is
// held to its minimum and maximum alone; one whose target is neither a
// Deployment nor a ReplicaSet is left alone.
type Plugin struct {
	h      *sim.Hands
	loads  []Load
	known  map[types.NamespacedName]*memory
	follow bool // pods and targets are being watched
}

// memory is what the controller remembers of one autoscaler from pass to pass.
type memory struct {
	selector        labels.Selector // of its target, once a pass has read it; nil selects nothing
	recommendations []recommendation
	ups, downs      []scaling

	queued  bool // a pass is about to begin
	next    *sim.Timer
	due     time.Time
	awake   bool      // the world must not end before the next pass
	because trace.Seq // what the next pass follows from
}

// New makes the controller with what is known of the load.
func New(loads ...Load) *Plugin {
	return &Plugin{loads: loads, known: map[types.NamespacedName]*memory{}}
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "hpa" }

// Start watches autoscalers; pods and targets are of no interest before there is one.
func (p *Plugin) Start(h *sim.Hands) {
	p.h = h
	h.Watch(sim.Autoscalers, p.observe)
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func (p *Plugin) observe(c engine.Change) {
	hpa, ok := c.New.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return
	}
	key := keyOf(hpa)
	m := p.known[key]
	if c.Verb == engine.Deleted {
		if m != nil {
			p.h.Stop(m.next)
			delete(p.known, key)
		}
		return
	}
	if !p.follow {
		p.follow = true
		p.h.Watch(sim.Deployments, p.observeTarget)
		p.h.Watch(sim.ReplicaSets, p.observeTarget)
		p.h.Watch(sim.Pods, p.observePod)
	}
	if m == nil {
		p.meet(key, hpa)
		return
	}
	if old, ok := c.Old.(*autoscalingv2.HorizontalPodAutoscaler); ok && old.Generation != hpa.Generation {
		m.because = p.h.Cause()
		p.add(key, m)
		return
	}
	p.addLater(key, m)
}

// meet begins with an autoscaler: at once with a new one. One that is older
// than that has been in the controller's rounds, at a phase that nobody knows.
func (p *Plugin) meet(key types.NamespacedName, hpa *autoscalingv2.HorizontalPodAutoscaler) {
	m := &memory{because: p.h.Cause()}
	p.known[key] = m
	isNew := p.h.Now().Sub(hpa.CreationTimestamp.Time) < syncPeriod
	if isNew {
		p.add(key, m)
	}
	if isNew && !p.h.Settling() {
		return
	}
	wait := syncPeriod
	if !p.h.Instant() {
		wait -= time.Duration(p.h.Rand().Int64N(int64(syncPeriod)))
	}
	m.awake = true
	p.arm(key, m, p.h.Now().Add(wait))
}

// observeTarget wakes the autoscalers of a Deployment or ReplicaSet that changed.
func (p *Plugin) observeTarget(c engine.Change) {
	obj, ok := c.New.(sim.Object)
	if !ok {
		return
	}
	ref := sim.RefOf(obj)
	p.wake(obj.GetNamespace(), func(hpa *autoscalingv2.HorizontalPodAutoscaler, _ *memory) bool {
		return hpa.Spec.ScaleTargetRef.Kind == ref.Kind && hpa.Spec.ScaleTargetRef.Name == ref.Name
	})
}

// observePod wakes the autoscalers that count a pod.
func (p *Plugin) observePod(c engine.Change) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok {
		return
	}
	p.wake(pod.Namespace, func(_ *autoscalingv2.HorizontalPodAutoscaler, m *memory) bool {
		return m.selector != nil && m.selector.Matches(labels.Set(pod.Labels))
	})
}

// wake keeps the world from ending before the next pass of those autoscalers.
func (p *Plugin) wake(namespace string, concerned func(*autoscalingv2.HorizontalPodAutoscaler, *memory) bool) {
	for _, obj := range p.h.Cached().List(sim.Autoscalers, namespace) {
		hpa, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
		m := p.known[keyOf(obj)]
		if !ok || m == nil || m.awake || m.next == nil || !concerned(hpa, m) {
			continue
		}
		m.awake = true
		if p.h.Stop(m.next) {
			p.arm(keyOf(obj), m, m.due)
		}
	}
}

// add queues an autoscaler for a pass now; the one that is due later stays due.
func (p *Plugin) add(key types.NamespacedName, m *memory) {
	if m.queued {
		return
	}
	m.queued = true
	p.h.After(p.h.Latency(sim.CallLatency), func() {
		m.queued = false
		p.pass(key, m)
	})
}

// addLater makes sure that a pass is due a period from now at the latest
// (rate_limiters.go: a fixed interval, and a queue that keeps the earliest).
func (p *Plugin) addLater(key types.NamespacedName, m *memory) {
	if m.next == nil {
		p.arm(key, m, p.h.Now().Add(syncPeriod))
	}
}

func (p *Plugin) arm(key types.NamespacedName, m *memory, due time.Time) {
	fire := func() {
		m.next = nil
		p.pass(key, m)
	}
	m.due = due
	after := p.h.AfterIdle
	if m.awake {
		after = p.h.After
	}
	p.h.Under(0, func() { m.next = after(due.Sub(p.h.Now()), fire) })
}

// pass looks at one autoscaler, and makes sure that it is looked at again
// (processNextWorkItem).
func (p *Plugin) pass(key types.NamespacedName, m *memory) {
	obj, ok := p.h.Cached().Get(sim.Autoscalers, key.Namespace, key.Name)
	hpa, isHPA := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok || !isHPA || p.known[key] != m {
		return
	}
	if _, ok := targetResource(hpa); !ok {
		return
	}
	ref := sim.RefOf(hpa)
	because := m.because
	m.because = 0
	p.h.Under(because, func() {
		p.h.Under(p.h.Emit(ref, trace.SyncBegan{}), func() {
			look := newLook(p, m, hpa)
			err := look.reconcile()
			m.awake = look.unsettled
			if err != nil {
				p.h.Emit(ref, trace.SyncEnded{Error: err.Error()})
			}
		})
	})
	p.addLater(key, m)
}

// targetResource is the plural name of what an autoscaler scales; false for
// kinds outside this world.
func targetResource(hpa *autoscalingv2.HorizontalPodAutoscaler) (string, bool) {
	ref := hpa.Spec.ScaleTargetRef
	if ref.APIVersion != "apps/v1" {
		return "", false
	}
	switch ref.Kind {
	case "Deployment":
		return sim.Deployments, true
	case "ReplicaSet":
		return sim.ReplicaSets, true
	}
	return "", false
}
