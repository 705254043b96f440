// Package sim is the host in virtual time: an API server in memory, the two
// controllers exactly as they run in a cluster, and a world of plugins around
// them. Equal configuration gives equal traces, byte for byte.
package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Config is all a world depends on.
type Config struct {
	Version     rollout.Version // the release to imitate; zero means the latest
	Seed        uint64
	Timing      Timing
	Start       time.Time // the date of virtual time zero
	Controllers []engine.Spec
	Plugins     []Plugin
	Log         *trace.Log // where the run is traced; nil keeps nothing
	// Settled is how long before time zero Settle's objects were applied; zero means two hours.
	Settled time.Duration
	// Ownership keeps metadata.managedFields, which server-side apply needs.
	Ownership bool
}

// World is a simulated cluster. It is not safe for concurrent use.
type World struct {
	cfg     Config
	loop    loop // since time zero
	store   *store
	server  *server
	delays  delays
	runners []*runner
	plugins []*actor
	started bool

	// settling: the world is being set up; nothing takes time or is traced.
	settling bool
	ended    bool

	// second is the whole second of a time: many ask for that of the present.
	second struct {
		at   time.Duration
		date metav1.Time
	}

	cause   trace.Seq // the event at hand
	running *task     // the coroutine at hand
	tasks   []*task   // all coroutines
	free    []*task   // those without work
	goal    *goal
}

// settledFor is old enough that nothing in a settled world is recent.
const settledFor = 2 * time.Hour

// New makes an empty world.
func New(cfg Config) *World {
	if cfg.Version == 0 {
		cfg.Version = rollout.LatestVersion
	}
	if cfg.Settled == 0 {
		cfg.Settled = settledFor
	}
	if cfg.Log == nil {
		cfg.Log = &trace.Log{Depth: -1}
	}
	w := &World{cfg: cfg, loop: newLoop(cfg.Start)}
	w.delays.world = w
	w.store = newStore(w)
	w.server = &server{world: w, store: w.store, templates: newTemplates(), sound: validate.NewMemory()}
	if cfg.Ownership {
		w.server.owners = newOwnership(w)
	}
	for _, p := range cfg.Plugins {
		if a, ok := p.(Admitter); ok {
			w.server.admitters = append(w.server.admitters, a)
		}
		w.plugins = append(w.plugins, w.newActor(p.Name()))
	}
	for _, spec := range cfg.Controllers {
		w.runners = append(w.runners, w.newRunner(spec))
	}
	return w
}

// Stored reads the truth as it is now.
func (w *World) Stored() Reader { return w.store }

// Now is the present virtual time.
func (w *World) Now() time.Time { return w.loop.Now() }

// Hand is the API as a person of that name uses it.
func (w *World) Hand(name string) engine.Hand { return hand{w.newActor(name).direct()} }

// Hands is what the world lends a plugin, for an actor that acts from outside
// between two calls of Advance.
func (w *World) Hands(name string) *Hands { return &Hands{actor: w.newActor(name)} }

// Advance lets the world go on for some time, without a goal.
func (w *World) Advance(ctx context.Context, d time.Duration) error {
	defer w.stopFreeTasks()
	w.start()
	until := w.loop.after(d)
	if err := w.advance(ctx, until); err != nil {
		return err
	}
	w.loop.now = until
	return nil
}

// Load puts objects into the world as they are: status, times and identities
// stay. Fields left open get their defaults, as a server gives them to what it
// reads from its storage. It must come before Settle and Run.
func (w *World) Load(objs ...Object) error {
	for _, obj := range objs {
		k := kindOf(obj)
		if k == nil {
			return fmt.Errorf("the simulated server stores no %T", obj)
		}
		obj = k.clone(obj)
		if obj.GetUID() == "" {
			obj.SetUID(newUID(w.store.uids))
		}
		if created := obj.GetCreationTimestamp(); created.IsZero() {
			obj.SetCreationTimestamp(w.now())
		}
		w.server.templates.fillLoaded(obj)
		normalize(obj)
		obj.SetResourceVersion(w.store.nextVersion())
		w.store.put(k, obj, 0)
	}
	return nil
}

// Settle applies objects and lets the world work on them, free of latencies and
// limits, so that at time zero they have been finished for long.
func (w *World) Settle(ctx context.Context, objs ...Object) error {
	defer w.stopFreeTasks()
	w.settling = true
	w.loop.now = -w.cfg.Settled
	w.start()
	hand := w.Hand(trace.ActorYou)
	for _, obj := range objs {
		if _, err := hand.Apply(ctx, obj); err != nil {
			return err
		}
		if err := w.advance(ctx, w.loop.now); err != nil {
			return err
		}
	}
	if err := w.advance(ctx, 0); err != nil {
		return err
	}
	w.loop.now, w.settling, w.cause = 0, false, 0
	for _, r := range w.runners {
		r.limiter.fill()
		r.queue.bucket.fill()
		clear(r.enqueued)
	}
	return nil
}

// advance runs what is pending up to a time.
func (w *World) advance(ctx context.Context, until time.Duration) error {
	for steps := 0; ; steps++ {
		if steps%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		when, ok := w.loop.next()
		if !ok || when > until {
			return nil
		}
		w.step()
	}
}

// step lets the earliest pending call happen, as following from what it was made under.
func (w *World) step() {
	fn, cause := w.loop.pop()
	w.cause = cause
	fn()
	w.cause = 0
}

// start lets plugins and controllers begin; what is stored reaches them first.
func (w *World) start() {
	if w.started {
		return
	}
	w.started = true
	w.recall()
	for _, r := range w.runners {
		r.start()
	}
	for i, p := range w.cfg.Plugins {
		p.Start(&Hands{actor: w.plugins[i]})
	}
}

// emit traces an event at the present time.
func (w *World) emit(e trace.Event) trace.Seq {
	if w.settling || w.ended {
		return 0
	}
	e.Offset = w.loop.now
	return w.cfg.Log.Append(e)
}

// draw is a latency, none while settling.
func (w *World) draw(d Latency, r *rand.Rand) time.Duration {
	if w.settling {
		return 0
	}
	return w.cfg.Timing.draw(d, r)
}

// DelayWatch holds back all watch events of a resource ("pods") for an actor
// ("" means all) until an offset from time zero.
func (w *World) DelayWatch(actor, resource string, until time.Duration) {
	w.delays.stretch = append(w.delays.stretch, stretch{actor, resource, until})
}

// writeCause is what a write follows from: the arithmetic at hand, except that
// a status is published for the pass as a whole.
func (w *World) writeCause(subresource string) trace.Seq {
	if w.running != nil && subresource == "status" && w.running.began != 0 {
		return w.running.began
	}
	return w.cause
}
