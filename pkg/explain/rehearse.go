package explain

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// rehearsal is one pass of a controller over a snapshot: all that it decides and
// would write is noted, and nothing is written.
type rehearsal struct {
	snapshot *Snapshot
	actor    string
	events   []trace.Event
	last     trace.Seq                // of all passes
	decided  map[trace.Ref]trace.Seq  // the latest arithmetic about each object
	rules    map[trace.Ref]trace.Rule // and its rule
}

// rehearse runs one pass over an object. The events are numbered after last.
func (s *Snapshot) rehearse(ctx context.Context, spec engine.Spec, key engine.Key, last trace.Seq) []trace.Event {
	r := &rehearsal{snapshot: s, actor: spec.Name, last: last, decided: map[trace.Ref]trace.Seq{}, rules: map[trace.Ref]trace.Rule{}}
	env := &engine.Env{
		Cache: cache{s}, API: refusingAPI{r}, Queue: noQueue{}, Clock: stopped(s.Now), Fanout: oneByOne, Events: silent{}, Trace: r,
	}
	if err := engine.Step(ctx, spec.Controller, env, key); err != nil {
		r.note(0, trace.Ref{Kind: kindOf[spec.Name], Namespace: key.Namespace, Name: key.Name}, trace.SyncEnded{Error: err.Error()})
	}
	return r.events
}

// kindOf is what each controller passes over.
var kindOf = map[string]string{trace.ActorDeployment: "Deployment", trace.ActorReplicaSet: "ReplicaSet"}

// Emit is trace.Tracer's.
func (r *rehearsal) Emit(object trace.Ref, detail trace.Detail) trace.Seq {
	cause := trace.Seq(0)
	if _, deleted := detail.(trace.Deleted); deleted {
		cause = r.latest()
	}
	seq := r.note(cause, object, detail)
	if b, ok := detail.(trace.Budgeted); ok {
		r.decided[object], r.rules[object] = seq, b.Rule
	}
	return seq
}

func (r *rehearsal) note(cause trace.Seq, object trace.Ref, detail trace.Detail) trace.Seq {
	r.last++
	r.events = append(r.events, trace.Event{Seq: r.last, Cause: cause, Actor: r.actor, Object: object, Detail: detail})
	return r.last
}

// latest is the last arithmetic of the pass.
func (r *rehearsal) latest() (seq trace.Seq) {
	for _, s := range r.decided {
		seq = max(seq, s)
	}
	return seq
}

// oneByOne runs the independent calls of a pass in their order.
func oneByOne(ctx context.Context, n int, call func(context.Context, int) error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = call(ctx, i)
	}
	return errs
}

// stopped is a clock that shows one moment.
type stopped time.Time

// Now is that moment.
func (c stopped) Now() time.Time { return time.Time(c) }

// Since is how long before that moment t was.
func (c stopped) Since(t time.Time) time.Duration { return time.Time(c).Sub(t) }

// silent says no Events: those about writes that were not made would be lies.
type silent struct{}

func (silent) Event(runtime.Object, string, string, string) {}

// noQueue forgets: the pass is not followed by another. When the controller
// wants to look again it tells in the trace.
type noQueue struct{}

var _ engine.Queue = noQueue{}

func (noQueue) Add(engine.Key)                     {}
func (noQueue) AddAfter(engine.Key, time.Duration) {}
func (noQueue) AddRateLimited(engine.Key)          {}
func (noQueue) NumRequeues(engine.Key) int         { return 0 }
func (noQueue) Forget(engine.Key)                  {}
