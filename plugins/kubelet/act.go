package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Act is something that happens to a running pod from outside: a script's doing.
type Act struct {
	Do Deed
	// Reason and Message are the status' own for Fail: Evicted, "The node was low on resource: memory."
	Reason, Message string
}

// Deed is the kind of an act.
type Deed string

// The deeds.
const (
	Crash    Deed = "crash"    // the containers exit; they restart at once and become ready, or go on crashing, as after a start
	Fail     Deed = "fail"     // the pod ends in phase Failed; its object stays, as after an eviction
	Succeed  Deed = "succeed"  // the pod ends in phase Succeeded
	NotReady Deed = "notready" // the readiness probe fails until Ready
	Evict    Deed = "evict"    // the node is short of what Reason names, memory unless it says so, and the kubelet throws the pod out
	Ready    Deed = "ready"    // the readiness probe succeeds from now on, whatever the profile says
)

// Act does a deed to a pod. It is an error when no kubelet has such a pod or
// when the pod is already on its way out.
func (k *Plugin) Act(namespace, name string, act Act) error {
	l := k.alive(types.NamespacedName{Namespace: namespace, Name: name})
	if l == nil {
		return fmt.Errorf("no kubelet runs pod %s/%s", namespace, name)
	}
	switch act.Do {
	case Fail, Succeed:
		k.h.Stop(l.starting)
		k.h.Stop(l.readying)
		k.end(l, act)
	case Evict:
		k.evict(l, act)
	case Crash, NotReady, Ready:
		if l.crew != nil {
			l.crew.act(act.Do)
		} else {
			l.act(act.Do)
		}
	default:
		return fmt.Errorf("%q is nothing a kubelet can do to a pod", act.Do)
	}
	return nil
}

// act is a deed to an ordinary pod.
func (l *life) act(deed Deed) {
	k := l.k
	k.h.Stop(l.starting)
	k.h.Stop(l.readying)
	running := state{phase: corev1.PodRunning, restarts: l.was.restarts}
	switch deed {
	case Crash:
		running.restarts++
	case Ready:
		running.ready = true
	}
	k.set(l, running)
	if deed == Crash && l.profile.Never == "" {
		l.readyIn(l.profile.ReadyAfter.draw(k.h.Rand()))
	}
}

// act is a deed to a pod whose containers are followed one by one.
func (w *crew) act(deed Deed) {
	if deed == Crash {
		w.crash()
		return
	}
	w.force(deed)
}

func (k *Plugin) alive(key types.NamespacedName) *life {
	obj, ok := k.h.Stored().Get(sim.Pods, key.Namespace, key.Name)
	if !ok {
		return nil
	}
	l := k.lifeOf(obj)
	if l == nil || l.was.terminal() || !l.exitAt.IsZero() {
		return nil
	}
	return l
}

// end brings a pod to a terminal phase without deleting it.
func (k *Plugin) end(l *life, act Act) {
	s := state{phase: corev1.PodFailed, exitCode: exitCrashed, restarts: l.was.restarts, reason: act.Reason, note: act.Message}
	if act.Do == Succeed {
		s.phase, s.exitCode = corev1.PodSucceeded, 0
	}
	ref := trace.Ref{Kind: "Pod", Namespace: l.key.Namespace, Name: l.key.Name}
	if act.Reason == "Evicted" {
		k.h.EmitOn(l.node, ref, trace.Evicted{By: k.Name(), Message: act.Message})
		if pod, ok := k.latest(l); ok {
			k.h.Event(pod, corev1.EventTypeWarning, "Evicted", act.Message)
		}
	}
	k.leave(l)
	if l.crew != nil {
		s.phase, s.crew = l.crew.finishAs(s.phase, s.exitCode), l.crew
	}
	k.set(l, s)
}
