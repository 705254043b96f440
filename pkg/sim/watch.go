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
	table    *table // what has been delivered; nil when nothing is kept of it
	handle   func(c engine.Change, number int)

	// The changes on their way. Only the oldest has an item in the loop; each
	// keeps the place among the loop's items that it was sent at.
	pending line[sent]
	next    item
	last    time.Duration
}

// sent is a change on its way.
type sent struct {
	verb   engine.Verb
	obj    Object
	old    Object // what was stored before; nil for a new object
	number int    // of its name
	cause  trace.Seq
	when   time.Duration
	ticket uint64
}

func newWatch(a *actor, k *kind, table *table, handle func(engine.Change, int)) *watch {
	w := &watch{actor: a, resource: k.resource, table: table, handle: handle, last: a.world.loop.now}
	w.next.fn = w.arrive
	return w
}

// send puts a change on its way.
func (w *watch) send(s sent) {
	world := w.actor.world
	s.when = max(world.loop.after(world.delays.watch(w)), w.last)
	w.last = s.when
	s.ticket = world.loop.ticket()
	w.pending.push(s)
	if w.pending.len() == 1 {
		w.await()
	}
}

// await puts the oldest pending change into the loop.
func (w *watch) await() {
	s := w.pending.first()
	w.next.when, w.next.cause = s.when, s.cause
	w.actor.world.loop.pushAs(&w.next, s.ticket)
}

// arrive delivers the oldest pending change.
func (w *watch) arrive() {
	s := w.pending.pop()
	if w.pending.len() > 0 {
		w.await()
	}
	if w.table == nil {
		w.pass(s.verb, s.number, s.obj, s.old)
		return
	}
	w.deliver(s.verb, s.number, s.obj)
}

// pass tells the handler of a change that no cache keeps. The stream brings
// every version in order, so that what was stored before was told before.
func (w *watch) pass(verb engine.Verb, number int, obj, old Object) {
	c := engine.Change{Verb: verb, New: obj}
	if old != nil {
		c.Old = old
	}
	w.handle(c, number)
}

// deliver brings a change into the cache and then tells the handler, which
// sees as Old what the cache held before.
func (w *watch) deliver(verb engine.Verb, number int, obj Object) {
	if w.table == nil {
		w.pass(verb, number, obj, nil)
		return
	}
	w.table.synced = obj.GetResourceVersion()
	c := engine.Change{Verb: verb, New: obj}
	var old Object
	if verb == engine.Deleted {
		old = w.table.drop(number)
	} else if old = w.table.set(number, obj); old == nil {
		c.Verb = engine.Added
	}
	if old != nil {
		c.Old = old
	}
	w.handle(c, number)
}
