package kubelet

import (
	"slices"
	"time"
)

// ready is the container's own readiness, as its status says.
func (c *container) ready() bool {
	switch {
	case c.role == initContainer:
		return c.phase == dead && c.ended.ExitCode == 0
	case c.phase != running || c.unseen || !c.started:
		return false
	case c.role == mainContainer && c.w.forced != "":
		return c.w.forced == Ready
	case c.role == mainContainer && (c.w.barred() || c.w.l.held || c.w.decreed && !c.granted):
		return false
	}
	p := c.prober(Readiness)
	return p == nil || p.result == success
}

// answers says whether a probe of the container succeeds at a moment.
func (c *container) answers(kind ProbeKind, at time.Time) bool {
	l := c.w.l
	if kind == Readiness && c.role == mainContainer {
		switch {
		case c.w.forced == Ready:
			return true
		case c.w.forced == NotReady, c.w.barred(), l.held:
			return false
		}
	}
	if at.Before(c.answersAt) {
		return false
	}
	for _, o := range c.outages() {
		if o.about(kind) && o.covers(at) {
			return false
		}
	}
	return true
}

// edge is the next moment at which the container may come to answer otherwise.
func (c *container) edge(kind ProbeKind, at time.Time) (next time.Time, ok bool) {
	see := func(t time.Time) {
		if t.After(at) && (!ok || t.Before(next)) {
			next, ok = t, true
		}
	}
	see(c.answersAt)
	for _, o := range c.outages() {
		if o.about(kind) {
			see(o.edge(at))
		}
	}
	return next, ok
}

func (c *container) outages() []Outage {
	if t := c.w.l.profile.Trouble; t != nil && c.concerned() {
		return t.Fails
	}
	return nil
}

func (o Outage) about(kind ProbeKind) bool {
	return len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind)
}
