package sim

import (
	"context"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// runner runs one controller: informer, handler, key in a rate-limited queue,
// worker, pass, write.
type runner struct {
	spec     engine.Spec
	actor    *actor
	queue    *queue
	limiter  *limiter
	recorder *recorder
	env      engine.Env
	kind     string // of the objects its keys name
	busy     int    // workers in a pass
	look     func() // work, made a value once
	// enqueued is the event that put each waiting key into the queue.
	enqueued map[engine.Key]trace.Seq
	// delivery is the watch event being observed; it is traced only when it puts a key into the queue.
	delivery delivery
}

type delivery struct {
	verb engine.Verb
	obj  Object    // nil when none is being observed
	seq  trace.Seq // once it is traced
}

func (w *World) newRunner(spec engine.Spec) *runner {
	r := &runner{spec: spec, actor: w.newActor(spec.Name), enqueued: map[engine.Key]trace.Seq{}}
	r.kind = kindByResource[spec.Watches[0]].gvk.Kind
	r.look = r.work
	r.limiter = newLimiter(&w.loop, spec.QPS, spec.Burst)
	r.limiter.off = &w.settling
	if w.cfg.Timing.Instant() {
		r.limiter.qps = 0
	}
	r.queue = newQueue(&w.loop, r.added, r.dispatch)
	r.queue.later = r.actor.bind
	r.queue.limited = r.requeued
	r.recorder = newRecorder(r.actor, r.limiter)
	r.env = engine.Env{
		Cache: r.actor.cache, API: &client{r.actor.direct(), r.limiter}, Queue: r.queue, Clock: &w.loop,
		Fanout: w.fanout, Events: r.recorder, Trace: passTracer{r.actor},
	}
	return r
}

// start begins the controller's watches.
func (r *runner) start() {
	for _, resource := range r.spec.Watches {
		r.actor.watch(resource, r.observe)
	}
}

func (r *runner) observe(c engine.Change) {
	r.delivery = delivery{verb: c.Verb, obj: c.New.(Object)}
	r.spec.Controller.Observe(&r.env, c)
	r.delivery = delivery{}
}

func (r *runner) ref(key engine.Key) trace.Ref {
	return trace.Ref{Kind: r.kind, Namespace: key.Namespace, Name: key.Name}
}

// added is told of a key entering the queue.
func (r *runner) added(key engine.Key) {
	w, cause := r.actor.world, r.actor.world.cause
	if d := &r.delivery; d.obj != nil {
		if d.seq == 0 {
			d.seq = w.emit(trace.Event{Cause: cause, Actor: r.spec.Name, Object: RefOf(d.obj),
				Detail: trace.Delivered{Watch: string(d.verb), ResourceVersion: d.obj.GetResourceVersion()}})
		}
		cause = d.seq
	}
	r.enqueued[key] = w.emit(trace.Event{Cause: cause, Actor: r.spec.Name, Object: r.ref(key), Detail: trace.Enqueued{}})
}

// requeued is told of a key put behind the rate limit.
func (r *runner) requeued(key engine.Key, delay time.Duration) {
	r.actor.Emit(r.ref(key), trace.Requeued{After: delay, Why: "RateLimited"})
}

// dispatch lets a free worker look for a key, after what else happens at this moment.
func (r *runner) dispatch() {
	r.actor.world.loop.soon(r.look)
}

func (r *runner) work() {
	if r.busy >= r.spec.Workers {
		return
	}
	key, ok := r.queue.take()
	if !ok {
		return
	}
	r.busy++
	r.actor.world.spawn(nil, func(t *task) { r.pass(t, key) })
}

// pass is one run of the controller over one key.
func (r *runner) pass(t *task, key engine.Key) {
	w := t.world
	cause := r.enqueued[key]
	delete(r.enqueued, key)
	t.began = w.emit(trace.Event{Cause: cause, Actor: r.spec.Name, Object: r.ref(key), Detail: trace.SyncBegan{Requeues: r.queue.NumRequeues(key)}})
	w.cause = t.began
	err := engine.Step(context.Background(), r.spec.Controller, &r.env, key)
	if t.dead {
		return
	}
	if err != nil {
		w.emit(trace.Event{Cause: t.began, Actor: r.spec.Name, Object: r.ref(key), Detail: trace.SyncEnded{Error: err.Error()}})
	}
	r.busy--
	r.queue.done(key)
	r.dispatch()
}

// passTracer traces what a controller says. An arithmetic becomes the cause of
// what the pass writes next.
type passTracer struct{ actor *actor }

func (p passTracer) Emit(object trace.Ref, detail trace.Detail) trace.Seq {
	w := p.actor.world
	t := w.running
	budget, decided := detail.(trace.Budgeted)
	if t == nil || !decided {
		return p.actor.Emit(object, detail)
	}
	seq := w.emit(trace.Event{Cause: t.began, Actor: p.actor.name, Object: object, Detail: detail})
	t.decision, t.rule = seq, budget.Rule
	w.cause = seq
	return seq
}

// fanout runs the calls of the pass at hand side by side.
func (w *World) fanout(ctx context.Context, n int, call func(ctx context.Context, i int) error) []error {
	return w.running.fanout(ctx, n, call)
}
