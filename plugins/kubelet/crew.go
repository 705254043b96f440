package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// crew is the containers of a pod whose start, probes or troubles have to be
// followed one by one. An ordinary pod, which starts with one write and becomes
// ready with another, has none.
type crew struct {
	l    *life
	spec *corev1.PodSpec
	// all are the init containers and sidecars, then the others, in their order.
	all []*container
	// synced is when the kubelet first took the pod up: probes tick from then on.
	synced time.Time
	// decreed: the profile's time makes the pod ready, and not its probes.
	decreed     bool
	readyFor    time.Duration
	readyAt     time.Time
	initialized bool
	busy        bool // pulling an image, which holds the rest up
	ending      bool
	well        bool // ready since before the run
	forced      Deed // Ready or NotReady, when a script says so
	looking     *sim.Timer
	publishing  *sim.Timer
}

// ordinary pods need no crew.
func ordinary(spec *corev1.PodSpec, p *Profile) bool {
	if p.Trouble != nil || p.PullFor != (Range{}) || p.Never == ImagePull || p.Never == CrashLoop || p.InitFor != (Range{}) && len(spec.InitContainers) > 0 {
		return false
	}
	return !p.Probed || len(spec.InitContainers) == 0 && !probed(spec.Containers, true)
}

// probed says whether a container has a probe that decides when it is ready, or any.
func probed(containers []corev1.Container, any bool) bool {
	for i := range containers {
		if c := &containers[i]; c.StartupProbe != nil || c.ReadinessProbe != nil || any && c.LivenessProbe != nil {
			return true
		}
	}
	return false
}

func newCrew(l *life, pod *corev1.Pod) *crew {
	w := &crew{l: l, spec: &pod.Spec, synced: l.k.h.Now()}
	w.decreed = !l.profile.Probed || !probed(pod.Spec.Containers, false) && !probed(pod.Spec.InitContainers, false)
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if isSidecar(c) {
			w.add(c, sidecar)
		} else {
			w.add(c, initContainer)
		}
	}
	for i := range pod.Spec.Containers {
		w.add(&pod.Spec.Containers[i], mainContainer)
	}
	w.adopt(pod)
	return w
}

func (w *crew) add(spec *corev1.Container, r role) {
	c := &container{w: w, spec: spec, role: r}
	if r != initContainer {
		c.probers = probers(c)
	}
	w.all = append(w.all, c)
}

func (w *crew) stopTimers() {
	w.l.k.h.Stop(w.looking)
	w.l.k.h.Stop(w.publishing)
	w.looking, w.publishing = nil, nil
	for _, c := range w.all {
		c.stopTimers()
	}
}

// barred pods never become ready. Those that were when the run began stay so
// until something happens to them.
func (w *crew) barred() bool {
	return !w.well && w.l.profile.Never != "" && w.l.profile.Never != WhileOthers
}

// start takes the pod up, bound at the given time.
func (w *crew) start(bound time.Time) {
	h := w.l.k.h
	w.synced = h.Now()
	for _, c := range w.all {
		if !c.began && c.role != initContainer {
			c.probers = probers(c)
		}
	}
	w.readyFor = w.l.profile.ReadyAfter.draw(h.Rand())
	if !w.l.profile.Probed {
		w.readyAt = bound.Add(w.readyFor)
	}
	w.l.held = w.l.profile.Never == WhileOthers && w.l.others()
	w.l.starting = h.After(h.Latency(sim.StartPod), func() {
		w.l.starting = nil
		w.sync()
	})
}

// sync starts what is to be started, and publishes how things are.
func (w *crew) sync() {
	if w.ending || w.l.was.terminal() {
		return
	}
	start := w.due()
	w.publish()
	for _, c := range w.all {
		if p := c.prober(Readiness); p != nil {
			p.poke()
		}
	}
	w.startAll(start)
}

// due are the containers to start now: init containers one after the other,
// each once the one before is done, or, for a sidecar, started; then all others
// (kuberuntime_container.go computeInitContainerActions).
func (w *crew) due() (out []*container) {
	if w.busy {
		return nil
	}
	for _, c := range w.all {
		switch {
		case c.role == mainContainer && !w.initialized:
			w.initialized = true
			if w.readyAt.IsZero() {
				w.readyAt = w.l.k.h.Now().Add(w.readyFor)
			}
		case c.role == initContainer && w.initialized:
			continue
		}
		if c.due() {
			out = append(out, c)
		}
		if !w.initialized && !c.passed() {
			return out
		}
	}
	return out
}

// passed says that the next init container may start.
func (c *container) passed() bool {
	if c.role == sidecar {
		return c.phase == running && c.started && !c.unseen
	}
	return c.phase == dead && !c.unseen && c.ended.ExitCode == 0
}

// startAll starts containers one after the other; a pull holds up the rest.
func (w *crew) startAll(list []*container) {
	h := w.l.k.h
	for _, c := range list {
		waited := c.begin()
		if waited == 0 {
			continue
		}
		w.busy = true
		c.next = h.After(waited, func() {
			c.next, w.busy = nil, false
			c.arrived()
			w.sync()
		})
		return
	}
}

// lookAfter has the kubelet look at the pod when it next asks the runtime what
// has changed, once it is done with what it does for some time.
func (w *crew) lookAfter(d time.Duration) {
	h := w.l.k.h
	if w.looking != nil && d == 0 {
		return
	}
	h.Stop(w.looking)
	w.looking = h.After(d+w.l.k.relist(), func() {
		w.looking = nil
		for _, c := range w.all {
			c.seen()
		}
		w.sync()
	})
}

// publish writes the pod's status.
func (w *crew) publish() {
	for _, c := range w.all {
		if c.began && !c.unseen || c.waiting != "" || w.busy {
			w.l.k.set(w.l, w.state())
			return
		}
	}
}

// publishSoon does so after what a probe's result takes to be published.
func (w *crew) publishSoon() {
	if w.publishing != nil {
		return
	}
	h := w.l.k.h
	w.publishing = h.After(h.Latency(sim.ReadyLag), func() {
		w.publishing = nil
		w.publish()
	})
}

// freed: the pods this one waited for are gone.
func (w *crew) freed() {
	for _, c := range w.all {
		for _, p := range c.probers {
			p.plan()
		}
	}
	w.publishSoon()
}

// force has a script say whether the pod is ready.
func (w *crew) force(to Deed) {
	w.forced = to
	for _, c := range w.all {
		for _, p := range c.probers {
			p.plan()
		}
	}
	w.publish()
}

// crash lets all main containers exit.
func (w *crew) crash() {
	for _, c := range w.all {
		if c.role == mainContainer {
			c.die(exitCrashed, "")
		}
	}
}

// stop begins the end of the running containers; only readiness probes go on.
func (w *crew) stop(grace int64) stop {
	w.ending = true
	h := w.l.k.h
	h.Stop(w.looking)
	up := map[*corev1.Container]bool{}
	for _, c := range w.all {
		h.Stop(c.next)
		h.Stop(c.exiting)
		h.Stop(c.ripens)
		up[c.spec] = c.phase == running
		for _, p := range c.probers {
			p.plan()
		}
	}
	init, main := w.l.stopAll(w.spec, func(c *corev1.Container) bool { return up[c] }, grace)
	for i, c := range w.all {
		if i < len(init) {
			c.stop = init[i]
		} else {
			c.stop = main[i-len(init)]
		}
	}
	return last(init, main)
}

// finish is the state once everything has ended. Only main containers decide
// whether the pod has failed; one that never ran has.
func (w *crew) finish(began time.Time) state {
	w.stopTimers()
	s := state{phase: corev1.PodSucceeded, crew: w}
	for _, c := range w.all {
		switch {
		case c.phase == running:
			c.end(c.stop.code, "", began.Add(c.stop.after))
		case c.phase == idle:
			c.phase = dead
			c.ended = &corev1.ContainerStateTerminated{ExitCode: exitKilled, Reason: "ContainerStatusUnknown",
				Message: "The container could not be located when the pod was terminated"}
		}
		c.waiting, c.message, c.unseen = "", "", false
		s.restarts = max(s.restarts, c.restarts)
		if c.role == mainContainer && c.ended.ExitCode != 0 {
			s.phase, s.exitCode = corev1.PodFailed, c.ended.ExitCode
		}
	}
	return s
}

func (w *crew) emit(d trace.Detail) {
	w.l.k.h.EmitOn(w.l.node, trace.Ref{Kind: "Pod", Namespace: w.l.key.Namespace, Name: w.l.key.Name}, d)
}

// say and warn record an Event about the container's pod.
func (c *container) say(reason, message string) { c.record(corev1.EventTypeNormal, reason, message) }

func (c *container) warn(reason, message string) {
	c.record(corev1.EventTypeWarning, reason, message)
}

func (c *container) record(eventType, reason, message string) {
	c.w.emit(trace.Recorded{EventType: eventType, Reason: reason, Message: message})
}

// finishAs ends everything now, in a phase that somebody gives.
func (w *crew) finishAs(phase corev1.PodPhase, code int32) corev1.PodPhase {
	for _, c := range w.all {
		c.stop = stop{code: code}
	}
	w.ending = true
	w.finish(w.l.k.h.Now())
	return phase
}
