package sim

import (
	"math/rand/v2"
	"strconv"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// actor is someone who acts in the world: a controller, a plugin, a person. It
// has a name in the trace, a random stream and what its watches have delivered.
type actor struct {
	world *World
	name  string
	rand  *rand.Rand
	cache *cache
}

func (w *World) newActor(name string) *actor {
	return &actor{world: w, name: name, rand: stream(w.cfg.Seed, name), cache: newCache(w.store.numbers)}
}

// Emit traces a detail as following from the event at hand.
func (a *actor) Emit(object trace.Ref, detail trace.Detail) trace.Seq {
	return a.emitOn("", object, detail)
}

func (a *actor) emitOn(node string, object trace.Ref, detail trace.Detail) trace.Seq {
	return a.world.emit(trace.Event{Cause: a.world.cause, Actor: a.name, Node: node, Object: object, Detail: detail})
}

// bind makes a call that runs under the cause at hand now.
func (a *actor) bind(fn func()) func() {
	w, cause := a.world, a.world.cause
	return func() { w.under(cause, fn) }
}

// under runs fn with its events following from cause.
func (w *World) under(cause trace.Seq, fn func()) {
	outer := w.cause
	w.cause = cause
	fn()
	w.cause = outer
}

// watch starts a watch of a resource: what exists is delivered at once. handle
// runs under the cause of the change.
func (a *actor) watch(resource string, handle func(engine.Change)) {
	k, s, l := kindByResource[resource], a.world.store, &a.world.loop
	w := a.open(k, a.cache.table(k), func(c engine.Change, _ int) { handle(c) })
	// A list has a version even when nothing is in it, and counts as that new.
	listed := strconv.FormatUint(max(s.revision, 1), 10)
	l.soon(func() { w.table.synced = listed })
}

// follow is watch without a cache.
func (a *actor) follow(resource string, handle func(engine.Change, int)) {
	a.open(kindByResource[resource], nil, handle)
}

// open begins a stream: what exists, and whatever is written from now on.
func (a *actor) open(k *kind, into *table, handle func(engine.Change, int)) *watch {
	s, l := a.world.store, &a.world.loop
	w := newWatch(a, k, into, handle)
	s.watches[k.place] = append(s.watches[k.place], w)
	if objs := s.List(k.resource, ""); len(objs) > 0 {
		l.soon(func() { w.deliverAll(objs, s.numbers[k.place]) })
	}
	return w
}

// direct is the API as the actor uses it at this very moment.
func (a *actor) direct() requester { return requester{server: a.world.server, actor: a} }
