package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// minimumGrace is what a container gets between SIGTERM and SIGKILL however
// little is left of its grace period, in seconds (kuberuntime_container.go
// minimumGracePeriodInSeconds).
const minimumGrace = 2

// stop is the end of one container, counted from the beginning of its pod's end.
type stop struct {
	after time.Duration
	code  int32
}

// signalled is the end of a process after SIGTERM, with so many seconds left
// until SIGKILL.
func (l *life) signalled(left int64) stop {
	grace := time.Duration(max(left, minimumGrace)) * time.Second
	switch {
	case l.profile.IgnoresSIGTERM || l.exitFor > grace:
		return stop{grace, exitKilled}
	case l.profile.ExitsCleanly:
		return stop{l.exitFor, 0}
	}
	return stop{l.exitFor, exitTerminated}
}

// stopping is the end of one container: its preStop hook, which the grace
// period cuts short, then its turn, then SIGTERM. Grace is counted in whole
// seconds, and what has been used of one does not count
// (kuberuntime_container.go killContainer).
func (l *life) stopping(c *corev1.Container, grace int64, turn time.Duration) stop {
	left, at := grace, time.Duration(0)
	if hook := preStop(c); hook != nil && !l.profile.HooksIncluded && left > 0 {
		at = min(l.hookTime(hook), time.Duration(left)*time.Second)
		left -= int64(at / time.Second)
	}
	if turn > at && left > 0 {
		wait := min(turn-at, time.Duration(left)*time.Second)
		at += wait
		left -= int64(wait / time.Second)
	}
	s := l.signalled(left)
	s.after += at
	return s
}

// plainEnd says that all containers of a pod end alike.
func plainEnd(spec *corev1.PodSpec) bool {
	for i := range spec.Containers {
		if preStop(&spec.Containers[i]) != nil {
			return false
		}
	}
	return len(spec.InitContainers) == 0
}

// stopAll is the ends of those containers that run, init containers first, in
// the order of the spec; others have a zero stop. Sidecars wait for all
// containers and for the sidecar after them (kuberuntime_termination_order.go).
func (l *life) stopAll(spec *corev1.PodSpec, running func(*corev1.Container) bool, grace int64) (init, main []stop) {
	init, main = make([]stop, len(spec.InitContainers)), make([]stop, len(spec.Containers))
	var turn time.Duration
	for i := range spec.Containers {
		if c := &spec.Containers[i]; running(c) {
			main[i] = l.stopping(c, grace, 0)
			turn = max(turn, main[i].after)
		}
	}
	for i := len(init) - 1; i >= 0; i-- {
		c := &spec.InitContainers[i]
		switch {
		case !running(c):
		case isSidecar(c):
			init[i] = l.stopping(c, grace, turn)
			turn = max(turn, init[i].after)
		default:
			init[i] = l.stopping(c, grace, 0)
		}
	}
	return init, main
}

// ending is when the last container of a pod without a crew ends, and its code.
func (l *life) ending(pod *corev1.Pod, grace int64) stop {
	if l.was.phase != corev1.PodRunning || l.was.waiting != "" {
		return stop{0, l.softCode()} // nothing runs
	}
	if plainEnd(&pod.Spec) {
		return l.signalled(grace)
	}
	once := pod.Spec.InitContainers
	init, main := l.stopAll(&pod.Spec, func(c *corev1.Container) bool { return isSidecar(c) || !holds(once, c) }, grace)
	return stop{last(init, main).after, last(main).code}
}

// holds says whether a container is one of a list.
func holds(list []corev1.Container, c *corev1.Container) bool {
	for i := range list {
		if &list[i] == c {
			return true
		}
	}
	return false
}

// last is the time of the last stop, and the first code that is not 0.
func last(stops ...[]stop) (end stop) {
	for _, list := range stops {
		for _, s := range list {
			end.after = max(end.after, s.after)
			if end.code == 0 {
				end.code = s.code
			}
		}
	}
	return end
}

// softCode is that of containers which end when they are asked to.
func (l *life) softCode() int32 {
	if l.profile.ExitsCleanly {
		return 0
	}
	return exitTerminated
}

// isSidecar: init containers that run on beside the others.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// specGrace is the grace period that a pod asks for, in seconds.
func specGrace(spec *corev1.PodSpec) int64 {
	if spec.TerminationGracePeriodSeconds == nil {
		return minimumGrace
	}
	return *spec.TerminationGracePeriodSeconds
}
