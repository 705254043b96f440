package sim

import "time"

// delays decides how long watch events take; faults stretch them.
type delays struct {
	world *World
	// Stretch adds to the delay of a watch, set through World.DelayWatch.
	stretch []stretch
}

// stretch makes the watches of one resource late until a time.
type stretch struct {
	actor, resource string
	until           time.Duration
}

func (d *delays) watch(w *watch) time.Duration {
	world := w.actor.world
	delay := world.draw(WatchLatency, w.actor.rand)
	if world.settling {
		return delay
	}
	for _, s := range d.stretch {
		if (s.actor == "" || s.actor == w.actor.name) && s.resource == w.resource {
			delay = max(delay, s.until-world.loop.now)
		}
	}
	return delay
}
