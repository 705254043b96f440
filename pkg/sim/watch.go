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
	handle   func(engine.Change)

	// The changes on their way, oldest first from head on. Only the oldest
	// has an item in the loop; each keeps the place in line it was sent at.
	pending []sent
	head    int
	next    item
	last    time.Time
}

// sent is a change on its way.
type sent struct {
	verb   engine.Verb
	obj    Object
	number int // of its name
	cause  trace.Seq
	when   time.Time
	ticket uint64
}

func newWatch(a *actor, k *kind, handle func(engine.Change)) *watch {
	w := &watch{actor: a, resource: k.resource, table: a.cache.table(k), handle: handle}
	w.next.fn = w.arrive
	return w
}

// send puts a change on its way.
func (w *watch) send(s sent) {
	world := w.actor.world
	s.when = world.loop.now.Add(world.delays.watch(w))
	if s.when.Before(w.last) {
		s.when = w.last
	}
	w.last = s.when
	s.ticket = world.loop.ticket()
	w.pending = append(w.pending, s)
	if len(w.pending)-w.head == 1 {
		w.await()
	}
}

// await puts the oldest pending change into the loop.
func (w *watch) await() {
	s := &w.pending[w.head]
	w.next.when, w.next.cause = s.when, s.cause
	w.actor.world.loop.pushAs(&w.next, s.ticket)
}

// arrive delivers the oldest pending change.
func (w *watch) arrive() {
	s := w.pending[w.head]
	w.pending[w.head] = sent{}
	if w.head++; w.head == len(w.pending) {
		w.pending, w.head = w.pending[:0], 0
	} else {
		if w.head > 1024 && w.head > len(w.pending)/2 {
			kept := copy(w.pending, w.pending[w.head:])
			clear(w.pending[kept:])
			w.pending, w.head = w.pending[:kept], 0
		}
		w.await()
	}
	w.deliver(s.verb, s.number, s.obj)
}

// deliver brings a change into the cache and then tells the handler, which
// sees as Old what the cache held before.
func (w *watch) deliver(verb engine.Verb, number int, obj Object) {
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
	w.handle(c)
}
