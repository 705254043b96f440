package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// role is the part a container has in its pod.
type role int8

const (
	mainContainer role = iota
	initContainer
	sidecar
)

// stage is how far a container is.
type stage int8

const (
	idle    stage = iota // never started
	running              // its process runs
	dead                 // its process has ended
)

// container is one container of a crew.
type container struct {
	w    *crew
	spec *corev1.Container
	role role

	phase   stage
	waiting string // the reason why it does not run, if it has one
	message string
	pulled  string // what is said of the pull that goes on
	began   bool   // it has run at least once
	// unseen: the kubelet has not noticed yet what the container did.
	unseen    bool
	started   bool // past its startup probe
	granted   bool // ready by its profile's time
	killing   bool
	parked    bool // nothing but counts would change any more
	restarts  int32
	crashes   int
	startedAt time.Time
	answersAt time.Time
	// finishedAt is the end of the latest run, held against the back-off.
	finishedAt time.Time
	stop       stop // set when its pod ends
	ended      *corev1.ContainerStateTerminated
	before     *corev1.ContainerStateTerminated

	restart backOff
	pulls   backOff
	probers []*prober
	exiting *sim.Timer // its own end
	next    *sim.Timer // its next start, or try
	ripens  *sim.Timer // its readiness by decree
}

func (c *container) stopTimers() {
	h := c.w.l.k.h
	for _, t := range []*sim.Timer{c.exiting, c.next, c.ripens} {
		h.Stop(t)
	}
	for _, p := range c.probers {
		h.Stop(p.timer)
	}
}

// concerned says whether the profile's trouble is about this container.
func (c *container) concerned() bool {
	if t := c.w.l.profile.Trouble; t != nil && t.Container != "" {
		return t.Container == c.spec.Name
	}
	return c.role == mainContainer
}

func (c *container) prober(kind ProbeKind) *prober {
	for _, p := range c.probers {
		if p.kind == kind {
			return p
		}
	}
	return nil
}

// decreed containers are ready when their profile says so, not their probes.
func (c *container) decreed() bool { return c.w.decreed && c.role == mainContainer }

// run starts the process.
func (c *container) run() {
	h := c.w.l.k.h
	if c.began {
		c.restarts++
	}
	if c.ended != nil {
		c.before, c.ended = c.ended, nil
	}
	c.phase, c.began, c.started, c.granted = running, true, false, false
	c.waiting, c.message = "", ""
	c.startedAt = h.Now()
	c.answersAt = c.startedAt
	if c.w.l.profile.Probed {
		c.answersAt = c.startedAt.Add(c.w.l.profile.AnswersAfter.draw(h.Rand()))
	}
	c.announce()
	for _, p := range c.probers {
		p.arm()
	}
	lasts, ends := c.exitsBy()
	if ends {
		c.exiting = h.After(lasts.after, func() { c.die(lasts.code, lasts.reason) })
	}
	// A restart that is over before the runtime is asked again is not seen.
	if !ends || c.restarts == 0 || lasts.after > relistPeriod {
		c.unseen = true
		c.w.lookAfter(c.w.l.hookTime(postStart(c.spec)))
	}
}

// announce records the Events of a start.
func (c *container) announce() {
	if c.w.l.k.h.Version().NamelessContainerEvents() {
		c.say("Created", "Container created")
		c.say("Started", "Container started")
		return
	}
	c.say("Created", "Created container: "+c.spec.Name)
	c.say("Started", "Started container "+c.spec.Name)
}

// fate is how a process ends by itself.
type fate struct {
	after  time.Duration
	code   int32
	reason string
}

// exitsBy is the end a process will come to; false for one that runs on.
func (c *container) exitsBy() (fate, bool) {
	p, random := &c.w.l.profile, c.w.l.k.h.Rand()
	crash := p.crash()
	switch {
	case crash != nil && c.concerned() && (crash.Times == 0 || c.crashes < crash.Times):
		c.crashes++
		return fate{crash.After.draw(random), crash.Code, crash.Reason}, true
	case c.role == initContainer:
		return fate{after: p.InitFor.draw(random)}, true
	}
	return fate{}, false
}

// crash is how the profile's containers exit; nil when they do not.
func (p *Profile) crash() *Exit {
	switch {
	case p.Trouble != nil && p.Trouble.Crash != nil:
		return p.Trouble.Crash
	case p.Never == CrashLoop:
		return &Exit{After: Exactly(crashesAfter), Code: exitCrashed}
	}
	return nil
}

// die is the end of the process.
func (c *container) die(code int32, reason string) {
	if c.phase != running {
		return
	}
	h := c.w.l.k.h
	c.stopTimers()
	c.w.well = false
	c.end(code, reason, h.Now())
	c.unseen = true
	if c.role == initContainer && code == 0 {
		c.w.lookAfter(0) // done, as it should be
		return
	}
	c.w.emit(trace.Exited{Container: c.spec.Name, Code: code, Reason: c.ended.Reason, Restarts: c.restarts})
	c.w.lookAfter(0)
}

// end notes how a run ended.
func (c *container) end(code int32, reason string, at time.Time) {
	if reason == "" {
		reason = "Error"
		if code == 0 {
			reason = "Completed"
		}
	}
	c.phase, c.started, c.granted, c.finishedAt = dead, false, false, at
	c.ended = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: seconds(c.startedAt), FinishedAt: seconds(at)}
}

func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// seen is the moment in which the kubelet notices what a container did.
func (c *container) seen() {
	if !c.unseen {
		return
	}
	c.unseen = false
	if c.phase != running {
		return
	}
	startup := c.prober(Startup)
	if startup != nil && c.w.decreed {
		startup.grant()
	}
	if startup == nil || c.w.decreed {
		c.up()
		return
	}
	startup.plan()
}

// up: the container counts as started, and its other probes begin.
func (c *container) up() {
	c.started = true
	if c.decreed() {
		c.ripen()
	}
	for _, p := range c.probers {
		p.plan()
	}
}

// ripen waits for the time at which the profile says the container is ready.
func (c *container) ripen() {
	h := c.w.l.k.h
	if c.w.barred() {
		return
	}
	wait := c.w.readyAt.Sub(h.Now())
	if c.restarts > 0 {
		wait = c.w.l.profile.ReadyAfter.draw(h.Rand())
	}
	if wait <= 0 && h.Instant() {
		c.grant()
		return
	}
	c.ripens = h.After(max(wait, 0)+h.Latency(sim.ReadyLag), func() {
		c.grant()
		c.w.publish()
	})
}

func (c *container) grant() {
	c.granted = true
	if p := c.prober(Readiness); p != nil {
		p.grant()
		p.plan()
	}
}
