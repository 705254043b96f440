// Package disruption is what protects pods from people: the controller that
// counts for each PodDisruptionBudget how many pods may go (upstream
// pkg/controller/disruption), and the draining of nodes as kubectl does it.
package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// A refused status is written again after firstRetry, then ever later
// (workqueue.DefaultTypedControllerRateLimiter).
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 1000 * time.Second
)

// Plugin is the disruption controller.
type Plugin struct {
	h        *sim.Hands
	pods     bool // pods and their owners are being watched
	budgets  map[types.NamespacedName]*budget
	queued   map[types.NamespacedName]bool
	failures map[types.NamespacedName]int
	recheck  map[types.NamespacedName]*sim.Timer
}

// New makes the controller.
func New() *Plugin {
	return &Plugin{budgets: map[types.NamespacedName]*budget{}, queued: map[types.NamespacedName]bool{}, failures: map[types.NamespacedName]int{}, recheck: map[types.NamespacedName]*sim.Timer{}}
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "disruption" }

// Start watches budgets; pods are of no interest before there is one.
func (p *Plugin) Start(h *sim.Hands) {
	p.h = h
	h.Watch(sim.DisruptionBudgs, p.observeBudget)
}

func (p *Plugin) observeBudget(c engine.Change) {
	pdb, ok := c.New.(*policyv1.PodDisruptionBudget)
	if !ok {
		return
	}
	key := keyOf(pdb)
	if c.Verb == engine.Deleted {
		delete(p.budgets, key)
		return
	}
	if !p.pods {
		p.pods = true
		p.h.Watch(sim.Deployments, func(engine.Change) {})
		p.h.Watch(sim.ReplicaSets, func(engine.Change) {})
		p.h.Watch(sim.Pods, p.observePod)
	}
	if b := p.budgets[key]; b == nil || b.stale(pdb) {
		p.budgets[key] = newBudget(pdb, p.h.Cached().List(sim.Pods, pdb.Namespace))
	}
	p.add(key)
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// observePod counts a pod anew and queues the first budget that covers it now.
func (p *Plugin) observePod(c engine.Change) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok {
		return
	}
	queued := false
	for _, obj := range p.h.Cached().List(sim.DisruptionBudgs, pod.Namespace) {
		b := p.budgets[keyOf(obj)]
		if b == nil {
			continue
		}
		if b.drop(pod.Name); c.Verb != engine.Deleted {
			b.take(pod)
		}
		if !queued && b.covers(pod) {
			queued = true
			p.add(keyOf(obj))
		}
	}
}

// add queues a budget; one that is queued is not queued twice.
func (p *Plugin) add(key types.NamespacedName) { p.addAfter(key, p.h.Latency(sim.CallLatency)) }

func (p *Plugin) addAfter(key types.NamespacedName, d time.Duration) {
	if p.queued[key] {
		return
	}
	p.queued[key] = true
	p.h.After(d, func() {
		delete(p.queued, key)
		p.sync(key)
	})
}

// sync brings a budget's status up to date. A failure to count closes the
// budget until it is mended.
func (p *Plugin) sync(key types.NamespacedName) {
	obj, ok := p.h.Cached().Get(sim.DisruptionBudgs, key.Namespace, key.Name)
	if !ok {
		return
	}
	pdb, ok := obj.(*policyv1.PodDisruptionBudget)
	if !ok {
		return
	}
	b := p.budgets[key]
	if b == nil {
		return
	}
	err := p.count(pdb, b)
	if err != nil && !apierrors.IsConflict(err) {
		err = p.close(pdb, err)
	}
	if err == nil {
		delete(p.failures, key)
		return
	}
	wait := lastRetry
	if n := p.failures[key]; n < 18 {
		wait = min(wait, firstRetry<<n)
	}
	p.failures[key]++
	p.addAfter(key, wait)
}
