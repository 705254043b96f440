package sim

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// watch is one actor's ordered stream of the changes of one resource. Each has
// its own delay, so resources may overtake one another but never themselves.
type watch struct {
	actor    *actor
	resource string
	table    *table // what has been delivered
	last     time.Time
	handle   func(c engine.Change, cause trace.Seq)
}

// send puts a change on its way.
func (w *watch) send(c engine.Change, cause trace.Seq) {
	world := w.actor.world
	when := world.loop.now.Add(world.delays.watch(w))
	if when.Before(w.last) {
		when = w.last
	}
	w.last = when
	world.loop.at(when, func() { w.deliver(c, cause) })
}

// deliver brings a change into the cache and then tells the handler, which
// sees as Old what the cache held before.
func (w *watch) deliver(c engine.Change, cause trace.Seq) {
	obj := c.New.(Object)
	w.table.synced = obj.GetResourceVersion()
	var old Object
	if c.Verb == engine.Deleted {
		old = w.table.drop(obj)
	} else if old = w.table.set(obj); old == nil {
		c.Verb = engine.Added
	}
	c.Old = nil
	if old != nil {
		c.Old = old
	}
	w.handle(c, cause)
}

// delays decides how long watch events take; faults stretch them.
type delays struct {
	world *World
	// Stretch adds to the delay of a watch, set through World.DelayWatch.
	stretch []stretch
}

// stretch makes the watches of one resource late until a time.
type stretch struct {
	actor, resource string
	until           time.Time
}

func (d *delays) watch(w *watch) time.Duration {
	world := w.actor.world
	delay := world.draw(WatchLatency, w.actor.rand)
	if world.settling {
		return delay
	}
	for _, s := range d.stretch {
		if (s.actor == "" || s.actor == w.actor.name) && s.resource == w.resource {
			delay = max(delay, s.until.Sub(world.loop.now))
		}
	}
	return delay
}
