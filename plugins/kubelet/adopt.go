package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// adopt takes up containers as a status tells of them. Those of a running pod
// without statuses run.
func (w *crew) adopt(pod *corev1.Pod) {
	w.well = w.l.was.phase == corev1.PodRunning && w.l.was.ready
	list := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for _, c := range w.all {
		found := false
		for i := range list {
			if list[i].Name == c.spec.Name {
				c.adopt(&list[i])
				found = true
			}
		}
		if !found && w.l.was.phase == corev1.PodRunning {
			c.assume(w.l.was.ready)
		}
		w.initialized = w.initialized || c.role == mainContainer && c.began
	}
}

func (c *container) adopt(s *corev1.ContainerStatus) {
	c.restarts = s.RestartCount
	c.before = s.LastTerminationState.Terminated
	switch {
	case s.State.Running != nil:
		c.phase, c.began, c.startedAt, c.answersAt = running, true, s.State.Running.StartedAt.Time, s.State.Running.StartedAt.Time
		c.started = s.Started == nil || *s.Started
		if c.granted = s.Ready; s.Ready {
			c.takeForReady()
		}
		c.w.l.k.images.add(c.w.l.node, c.spec.Image, c.startedAt)
	case s.State.Terminated != nil:
		c.adoptEnd(s.State.Terminated)
	case c.before != nil:
		c.adoptEnd(c.before)
		c.before = nil
		if w := s.State.Waiting; w != nil {
			c.waiting, c.message = w.Reason, w.Message
		}
	}
}

// adoptEnd takes up a container that has ended. How long it is held back is
// read off the number of its restarts.
func (c *container) adoptEnd(t *corev1.ContainerStateTerminated) {
	c.phase, c.began, c.ended = dead, true, t
	c.startedAt, c.finishedAt = t.StartedAt.Time, t.FinishedAt.Time
	for range min(c.restarts, 6) {
		c.restart.next(c.finishedAt, c.finishedAt)
	}
}

// assume takes a container for one that has done well until now.
func (c *container) assume(ready bool) {
	now := c.w.l.k.h.Now()
	c.began, c.startedAt, c.answersAt = true, now, now
	c.w.l.k.images.add(c.w.l.node, c.spec.Image, c.startedAt)
	if c.role == initContainer {
		c.end(0, "", now)
		return
	}
	c.phase, c.started = running, true
	if c.granted = ready; ready {
		c.takeForReady()
	}
}

func (c *container) takeForReady() {
	for _, p := range c.probers {
		p.grant()
	}
}

// settle is a pod that has been well for long.
func (w *crew) settle() state {
	w.well = true
	for _, c := range w.all {
		c.assume(true)
		for _, p := range c.probers { // pods that came at different times are not probed at once
			if h := w.l.k.h; !h.Instant() {
				p.base = p.base.Add(-time.Duration(h.Rand().Float64() * float64(p.period())))
			}
		}
	}
	w.initialized = true
	w.goOn()
	return w.state()
}

// goOn has the containers that run be watched by their probes.
func (w *crew) goOn() {
	for _, c := range w.all {
		if c.phase != running {
			continue
		}
		if lasts, ends := c.exitsBy(); ends && !w.l.k.h.Settling() && w.l.profile.Never == CrashLoop {
			c.exiting = w.l.k.h.After(lasts.after, func() { c.die(lasts.code, lasts.reason) })
		}
		if w.decreed && c.started && !c.granted && c.role == mainContainer {
			c.ripen()
		}
		for _, p := range c.probers {
			p.plan()
		}
	}
}
