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
	handle   func(c engine.Change, cause trace.Seq)

	// The changes on their way, oldest first from head on. Only the oldest
	// has an item in the loop; each keeps the place in line it was sent at.
	pending []sent
	head    int
	next    item
	last    time.Time
}

// sent is a change on its way.
type sent struct {
	change engine.Change
	cause  trace.Seq
	when   time.Time
	seq    uint64
}

// send puts a change on its way.
func (w *watch) send(c engine.Change, cause trace.Seq) {
	world := w.actor.world
	when := world.loop.now.Add(world.delays.watch(w))
	if when.Before(w.last) {
		when = w.last
	}
	w.last = when
	w.pending = append(w.pending, sent{c, cause, when, world.loop.ticket()})
	if len(w.pending)-w.head == 1 {
		w.await()
	}
}

// await puts the oldest pending change into the loop.
func (w *watch) await() {
	s := &w.pending[w.head]
	w.next.when, w.next.seq, w.next.fn = s.when, s.seq, w.arrive
	w.actor.world.loop.push(&w.next)
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
	w.deliver(s.change, s.cause)
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
