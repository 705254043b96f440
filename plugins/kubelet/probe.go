package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// ProbeKind is one of the three probes a container may have.
type ProbeKind string

// The probes.
const (
	Startup   ProbeKind = "startup"
	Readiness ProbeKind = "readiness"
	Liveness  ProbeKind = "liveness"
)

// verdict is a probe's result.
type verdict int8

const (
	unknown verdict = iota
	success
	failure
)

// prober is one probe of one container (prober/worker.go). It ticks every
// period from the moment in which the kubelet first took the pod up, when the
// probe runs for the first time and finds no container yet. Ticks at which
// nothing can change are left out.
type prober struct {
	c    *container
	kind ProbeKind
	spec *corev1.Probe
	base time.Time // the latest run that is no tick; ticks are one period from here, two, and so on

	result verdict // what counts
	last   verdict // what the latest ticks said
	run    int32   // so many of them in a row
	hold   bool    // until the container is started anew
	ticked time.Time
	timer  *sim.Timer
}

// initial is the result of each kind before the first tick.
var initial = map[ProbeKind]verdict{Startup: unknown, Readiness: failure, Liveness: success}

// probers are those of a container, in the order in which a kubelet starts them.
func probers(c *container) []*prober {
	var out []*prober
	for _, p := range []*prober{
		{kind: Startup, spec: c.spec.StartupProbe}, {kind: Readiness, spec: c.spec.ReadinessProbe}, {kind: Liveness, spec: c.spec.LivenessProbe},
	} {
		if p.spec != nil {
			p.c, p.result = c, initial[p.kind]
			p.base = c.w.synced
			if delay := c.w.l.k.probeDelay(c.w.l.node, p.period()); delay > 0 {
				p.base = p.base.Add(delay - p.period())
			}
			out = append(out, p)
		}
	}
	return out
}

// probeDelay is the pause before the first probe that a kubelet makes when it
// was started itself less than a period ago: about as long ago as its node was made.
func (k *Plugin) probeDelay(node string, period time.Duration) time.Duration {
	obj, ok := k.h.Stored().Get(sim.Nodes, "", node)
	if !ok || k.h.Now().Sub(obj.GetCreationTimestamp().Time) >= period {
		return 0
	}
	return time.Duration(k.h.Rand().Float64() * float64(period))
}

func (p *prober) period() time.Duration {
	return time.Duration(max(p.spec.PeriodSeconds, 1)) * time.Second
}

func (p *prober) threshold(v verdict) int32 {
	if v == failure {
		return max(p.spec.FailureThreshold, 1)
	}
	return max(p.spec.SuccessThreshold, 1)
}

// arm begins with a new run of the container. What earlier ticks said stays.
func (p *prober) arm() {
	p.hold, p.result = false, initial[p.kind]
}

// grant takes a success for given.
func (p *prober) grant() {
	p.result, p.last, p.run, p.hold = success, success, p.threshold(success), p.kind == Startup
}

// allowed says whether ticks probe at all.
func (p *prober) allowed() bool {
	c := p.c
	switch {
	case p.hold || c.phase != running || c.unseen || c.w.ending && p.kind != Readiness:
		return false
	case p.kind == Startup:
		return !c.started
	}
	return c.started && (p.kind != Readiness || !c.decreed() || c.granted)
}

// opens is when the initial delay is over, whole seconds counting.
func (p *prober) opens() time.Time {
	return p.c.startedAt.Truncate(time.Second).Add(time.Duration(p.spec.InitialDelaySeconds) * time.Second)
}

// tick is the first one at a moment or after it.
func (p *prober) tick(at time.Time) time.Time {
	period := p.period()
	return p.base.Add(max((at.Sub(p.base)+period-1)/period, 1) * period)
}

// plan sets the timer to the next tick that can change anything.
func (p *prober) plan() {
	h := p.c.w.l.k.h
	h.Stop(p.timer)
	if !p.allowed() {
		return
	}
	from := h.Now()
	if opens := p.opens(); opens.After(from) {
		from = opens
	}
	at := p.tick(from)
	if !at.After(p.ticked) {
		at = p.tick(p.ticked.Add(1))
	}
	if p.settled(at) {
		var ok bool
		if at, ok = p.differing(at); !ok {
			return
		}
	}
	p.timer = h.After(at.Sub(h.Now()), p.probe)
}

// settled says that ticks from a moment on say what counts already.
func (p *prober) settled(at time.Time) bool {
	if p.c.answers(p.kind, at) {
		return p.result == success && p.last != failure
	}
	return p.result == failure && p.last == failure && p.run >= p.threshold(failure)
}

// differing is the next tick at which the container answers otherwise.
func (p *prober) differing(at time.Time) (time.Time, bool) {
	now := p.c.answers(p.kind, at)
	for {
		edge, ok := p.c.edge(p.kind, at)
		if !ok {
			return at, false
		}
		if at = p.tick(edge); p.c.answers(p.kind, at) != now {
			return at, true
		}
	}
}

// probe is one tick.
func (p *prober) probe() {
	p.ticked = p.c.w.l.k.h.Now()
	v := failure
	if p.c.answers(p.kind, p.ticked) {
		v = success
	}
	if v == p.last {
		p.run++
	} else {
		p.last, p.run = v, 1
	}
	if v == failure && p.run <= p.threshold(failure) { // the same again raises the Event's count only
		p.c.warn("Unhealthy", titles[p.kind]+" probe failed: "+output(p.spec))
	}
	if p.run >= p.threshold(v) {
		p.settle(v)
	}
	p.plan()
}

// settle makes a result count.
func (p *prober) settle(v verdict) {
	changed := p.result != v
	p.result = v
	if p.kind == Startup || p.kind == Liveness && v == failure {
		p.hold, p.run = true, 0
	}
	switch {
	case p.kind == Readiness && changed:
		p.c.w.publishSoon()
	case p.kind == Startup && v == success:
		p.c.up()
		p.c.w.sync()
	case p.kind != Readiness && v == failure:
		p.c.kill(p)
	}
}

// poke is the extra probe a kubelet makes of a container that is not ready when
// it looks at its pod; periods count from it (prober_manager.go UpdatePodStatus).
func (p *prober) poke() {
	now := p.c.w.l.k.h.Now()
	if p.kind != Readiness || p.result == success || !p.allowed() || p.ticked.Equal(now) {
		return
	}
	p.base = now
	if now.Before(p.opens()) {
		p.plan()
		return
	}
	p.c.w.l.k.h.Stop(p.timer)
	p.probe()
}

var titles = map[ProbeKind]string{Startup: "Startup", Readiness: "Readiness", Liveness: "Liveness"}

// output is what a failing probe says of itself.
func output(spec *corev1.Probe) string {
	switch {
	case spec.HTTPGet != nil:
		return "HTTP probe failed with statuscode: 503"
	case spec.TCPSocket != nil:
		return "dial tcp: connect: connection refused"
	case spec.GRPC != nil:
		return `service unhealthy (responded with "NOT_SERVING")`
	}
	return ""
}
