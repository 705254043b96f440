package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// Back-off of crashing containers and of image pulls (kubelet).
const (
	backOffBase = 10 * time.Second
	backOffCap  = 300 * time.Second
	// pullResync is when a kubelet next looks at a pod whose pull failed
	// (pod_workers.go workerBackOffPeriod, with its jitter).
	pullResync = 13 * time.Second
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
	node    string
	profile Profile
	was     state // as last published
	family  *family
	set     types.UID // the pod's ReplicaSet, within its family

	starting, readying, retry, exiting *sim.Timer
	exitAt                             time.Time // zero until the pod is deleted
	killed                             bool
	// held pods have passed their time to become ready and wait for the others.
	held bool
}

func (l *life) stopTimers() {
	for _, t := range []*sim.Timer{l.starting, l.readying, l.retry, l.exiting} {
		l.k.h.Stop(t)
	}
}

// start runs the containers of a pod bound at the given time.
func (l *life) start(bound time.Time) {
	h := l.k.h
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

// begun is the moment in which the containers run, or fail to.
func (l *life) begun(readyAt time.Time) {
	switch never := l.profile.Never; {
	case (never == ImagePull || never == CrashLoop) && l.was.waiting != "":
		return // found so, and so it stays
	case never == ImagePull && l.was.phase != corev1.PodRunning:
		l.pull()
		return
	case never == CrashLoop:
		l.crash(0)
		return
	}
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
	l.readying = h.After(d+h.Latency(sim.ReadyLag), func() {
		l.readying = nil
		l.held = l.profile.Never == WhileOthers && l.others()
		if !l.held {
			l.k.set(l, state{phase: corev1.PodRunning, ready: true, restarts: l.was.restarts})
		}
	})
}

// pull fails: first ErrImagePull, then ImagePullBackOff for good. Further tries
// change nothing but the two words, and are left out.
func (l *life) pull() {
	image, backOff := "", "ImagePullBackOff"
	pod, ok := l.k.latest(l)
	if !ok {
		return
	}
	if len(pod.Spec.Containers) > 0 {
		image = pod.Spec.Containers[0].Image
	}
	waiting := state{phase: corev1.PodPending, waiting: "ErrImagePull", message: fmt.Sprintf("failed to pull and unpack image %q: not found", image)}
	held := state{phase: corev1.PodPending, waiting: backOff, message: fmt.Sprintf("Back-off pulling image %q", image)}
	if l.k.h.Instant() {
		l.k.set(l, held)
		return
	}
	l.k.h.Event(pod, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %s", image, waiting.message))
	l.k.set(l, waiting)
	l.starting = l.k.h.After(pullResync, func() {
		l.starting = nil
		l.k.h.Event(pod, corev1.EventTypeNormal, "BackOff", held.message)
		l.k.set(l, held)
	})
}

// crash is what follows the containers' exits so far: none, the first start;
// one, a restart at once; more, a restart behind a back-off that doubles up to
// its cap. At the cap nothing changes any more but the count, so it stops there.
func (l *life) crash(exits int) {
	h := l.k.h
	again := func() { l.readying = h.After(crashesAfter, func() { l.crash(exits + 1) }) }
	if exits < 2 {
		l.k.set(l, state{phase: corev1.PodRunning, restarts: l.was.restarts + int32(exits)})
		again()
		return
	}
	pod, ok := l.k.latest(l)
	if !ok {
		return
	}
	wait := min(backOffBase<<(exits-2), backOffCap)
	l.k.set(l, l.backingOff(pod, wait))
	if wait == backOffCap {
		return
	}
	l.readying = h.After(wait, func() {
		l.was.restarts++
		again()
	})
}

func (l *life) backingOff(pod *corev1.Pod, wait time.Duration) state {
	name := ""
	if len(pod.Spec.Containers) > 0 {
		name = pod.Spec.Containers[0].Name
	}
	who := fmt.Sprintf("%s_%s(%s)", l.key.Name, l.key.Namespace, l.uid)
	l.k.h.Event(pod, corev1.EventTypeWarning, "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s", name, who))
	return state{
		phase: corev1.PodRunning, restarts: l.was.restarts, waiting: "CrashLoopBackOff",
		message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", wait, name, who),
	}
}

// terminate begins the end of a deleted pod, or hastens it when the deletion
// has been made more urgent.
func (l *life) terminate(pod *corev1.Pod) {
	h := l.k.h
	now := h.Now()
	grace := gracePeriod(pod)
	first := l.exitAt.IsZero()
	if first {
		l.held = false
		h.Stop(l.starting)
		h.Stop(l.readying)
		exit := l.profile.ExitAfter.draw(h.Rand())
		l.killed = l.profile.IgnoresSIGTERM || exit > grace
		if l.was.phase != corev1.PodRunning || l.was.waiting != "" {
			exit, l.killed = 0, false // nothing runs
		}
		if l.killed {
			exit = grace
		}
		l.exitAt = now.Add(exit)
	} else {
		deadline := pod.DeletionTimestamp.Time
		if !deadline.Before(l.exitAt) || l.was.terminal() {
			return
		}
		l.killed, l.exitAt = true, deadline
		h.Stop(l.exiting)
	}
	// The end of the last container is noticed a little later.
	l.exiting = h.After(max(l.exitAt.Sub(now), 0)+h.Latency(sim.RemovePod), l.exit)
}

// exit is the moment in which the kubelet knows the last container gone: the
// terminal status, then the removal of the object.
func (l *life) exit() {
	s := state{phase: corev1.PodFailed, exitCode: exitTerminated, restarts: l.was.restarts}
	switch {
	case l.killed:
		s.exitCode = exitKilled
	case l.profile.ExitsCleanly:
		s.phase, s.exitCode = corev1.PodSucceeded, 0
	}
	l.k.leave(l)
	l.k.set(l, s)
	h := l.k.h
	l.exiting = h.After(h.Latency(sim.CallLatency), l.remove)
}

// remove deletes the object for good. Its UID guards a namesake.
func (l *life) remove() {
	zero := int64(0)
	opts := metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &l.uid}}
	if err := l.k.h.Delete(sim.Pods, l.key.Namespace, l.key.Name, opts); err != nil {
		if _, there := l.k.latest(l); there {
			l.exiting = l.k.h.After(retryStatus, l.remove)
		}
	}
}

func gracePeriod(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}
