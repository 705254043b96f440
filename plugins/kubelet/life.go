package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

const (
	// crashesAfter is how long a crashing container runs.
	crashesAfter = time.Second
	// exitTerminated and exitKilled are the codes of SIGTERM and SIGKILL;
	// exitCrashed is that of a process that gave up.
	exitTerminated, exitKilled, exitCrashed = 143, 137, 1
)

// life is one pod on its node, from the binding to the end of its object.
type life struct {
	k       *Plugin
	key     types.NamespacedName
	uid     types.UID
	number  int  // the pod's
	buried  bool // its pod is known to be gone
	node    string
	profile Profile
	was     state // as last published
	family  *family
	set     types.UID // the pod's ReplicaSet, within its family
	crew    *crew     // nil for an ordinary pod

	starting, readying, retry, exiting *sim.Timer
	endsFrom, exitAt                   time.Time     // zero until the pod is deleted
	grace                              int64         // seconds, in force since
	exitFor                            time.Duration // from SIGTERM
	code                               int32         // of the end to come
	// held pods have passed their time to become ready and wait for the others.
	held    bool
	refused bool // by its kubelet, at admission
}

func (l *life) stopTimers() {
	for _, t := range []*sim.Timer{l.starting, l.readying, l.retry, l.exiting} {
		l.k.h.Stop(t)
	}
	if l.crew != nil {
		l.crew.stopTimers()
	}
}

// formatted is how a kubelet names a pod in messages.
func (l *life) formatted() string {
	return fmt.Sprintf("%s_%s(%s)", l.key.Name, l.key.Namespace, l.uid)
}

// start runs the containers of a pod bound at the given time.
func (l *life) start(bound time.Time) {
	h := l.k.h
	if l.crew != nil {
		l.startCrew(bound)
		return
	}
	if h.Settling() {
		l.k.set(l, state{phase: corev1.PodRunning, ready: true, restarts: l.was.restarts})
		return
	}
	readyAt := bound.Add(l.profile.ReadyAfter.draw(h.Rand()))
	if l.was.phase == corev1.PodRunning {
		l.begun(readyAt)
		return
	}
	l.starting = h.After(h.Latency(sim.StartPod), func() {
		l.starting = nil
		l.begun(readyAt)
	})
}

// startCrew takes up a pod whose containers are followed one by one. One found
// to wait for what never comes goes on waiting.
func (l *life) startCrew(bound time.Time) {
	never := l.profile.Never
	switch {
	case l.k.h.Settling():
		l.k.set(l, l.crew.settle())
	case (never == ImagePull || never == CrashLoop) && l.was.waiting != "":
	default:
		l.crew.start(bound)
		l.crew.goOn()
	}
}

// begun is the moment in which the containers run.
func (l *life) begun(readyAt time.Time) {
	wait := readyAt.Sub(l.k.h.Now())
	running := state{phase: corev1.PodRunning, restarts: l.was.restarts, ready: false}
	if l.profile.Never == "" && wait <= 0 && l.k.h.Instant() {
		running.ready = true // one write, as for a pod without probes
	}
	if l.was != running {
		l.k.set(l, running)
	}
	if !running.ready && (l.profile.Never == "" || l.profile.Never == WhileOthers) {
		l.readyIn(max(wait, 0))
	}
}

// readyIn publishes readiness after a delay.
func (l *life) readyIn(d time.Duration) {
	h := l.k.h
	if l.crew != nil {
		l.crew.freed()
		return
	}
	l.readying = h.After(d+h.Latency(sim.ReadyLag), func() {
		l.readying = nil
		l.held = l.profile.Never == WhileOthers && l.others()
		if !l.held {
			l.k.set(l, state{phase: corev1.PodRunning, ready: true, restarts: l.was.restarts})
		}
	})
}

// terminate begins the end of a deleted pod, or hastens it when the deletion
// has been made more urgent: then hooks and signals begin anew with the shorter
// grace period (pod_workers.go calculateEffectiveGracePeriod).
func (l *life) terminate(pod *corev1.Pod) {
	h := l.k.h
	now, grace := h.Now(), max(gracePeriod(pod), 1)
	first := l.exitAt.IsZero()
	switch {
	case first:
		l.held = false
		h.Stop(l.starting)
		h.Stop(l.readying)
		l.exitFor = l.profile.ExitAfter.draw(h.Rand())
	case grace >= l.grace || l.was.terminal():
		return
	}
	l.grace = grace
	var end stop
	if l.crew != nil {
		end = l.crew.stop(grace)
	} else {
		end = l.ending(pod, grace)
	}
	if at := now.Add(end.after); first || at.Before(l.exitAt) {
		h.Stop(l.exiting)
		l.endsFrom, l.exitAt, l.code = now, at, end.code
		// The end of the last container is noticed a little later.
		l.exiting = h.After(end.after+h.Latency(sim.RemovePod), l.exit)
	}
}

// exit is the moment in which the kubelet knows the last container gone: the
// terminal status, then the removal of the object.
func (l *life) exit() {
	s := state{phase: corev1.PodFailed, exitCode: l.code, restarts: l.was.restarts}
	switch {
	case l.crew != nil:
		s = l.crew.finish(l.endsFrom)
	case l.code == 0:
		s.phase = corev1.PodSucceeded
	}
	l.k.leave(l)
	l.k.set(l, s)
	h := l.k.h
	l.exiting = h.After(h.Latency(sim.CallLatency), l.remove)
}

// remove deletes the object for good. Its UID guards a namesake.
func (l *life) remove() {
	if l.k.cut[l.node] {
		return
	}
	zero := int64(0)
	opts := metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &l.uid}}
	if err := l.k.h.Delete(sim.Pods, l.key.Namespace, l.key.Name, opts); err != nil {
		if _, there := l.k.latest(l); there {
			l.exiting = l.k.h.After(retryStatus, l.remove)
		}
	}
}

func gracePeriod(pod *corev1.Pod) int64 {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return *pod.DeletionGracePeriodSeconds
}
