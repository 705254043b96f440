package live

import (
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// journal numbers the events of many goroutines and derives from each version
// of an object, whoever brings it first, what happened to it. A nil journal
// keeps nothing and costs nothing.
type journal struct {
	sink  func(trace.Event)
	clock clock.PassiveClock
	began time.Time
	at    time.Time        // of what is being taken, when that came earlier than now
	wall  func() time.Time // the server's time
	owned ownedSets

	mu      sync.Mutex
	last    trace.Seq
	known   map[trace.Ref]state
	gone    graveyard
	flights map[trace.Ref]*flight
}

// state is the newest known version of an object.
type state struct {
	obj Object
	seq trace.Seq // the write that made it, when it was ours
}

// author is who made a version, and because of what.
type author struct {
	actor string
	cause trace.Seq  // the arithmetic or the pass
	wrote trace.Seq  // the write itself
	rule  trace.Rule // of the arithmetic
}

// request is one write of a controller, before its answer.
type request struct {
	verb, subresource string
	ref               trace.Ref // the name may be a generateName
}

// flight is what a write that has no answer yet holds back: versions that may
// be its own, delivered by a watch that was faster than the answer.
type flight struct {
	writes int
	held   []Object
}

func newJournal(sink func(trace.Event), c clock.PassiveClock) *journal {
	if sink == nil {
		return nil
	}
	return &journal{
		sink: sink, clock: c, began: c.Now(), wall: c.Now, owned: noSets,
		known: map[trace.Ref]state{}, flights: map[trace.Ref]*flight{},
	}
}

// emit numbers an event and passes it on.
func (j *journal) emit(e trace.Event) trace.Seq {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.add(e)
}

// add is emit for those who hold the lock.
func (j *journal) add(e trace.Event) trace.Seq {
	j.last++
	now := j.at
	if now.IsZero() {
		now = j.clock.Now()
	}
	e.Seq, e.Offset = j.last, max(now.Sub(j.began), 0)
	j.sink(e)
	return e.Seq
}

// close ends the trace: what stray goroutines still say is dropped.
func (j *journal) close() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sink = func(trace.Event) {}
}

// depart is told of a write on its way.
func (j *journal) depart(r request) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.flights[r.ref]
	if f == nil {
		f = &flight{}
		j.flights[r.ref] = f
	}
	f.writes++
}

// wrote traces a write that went well, with what it changed.
func (j *journal) wrote(r request, obj Object, by author) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	by.wrote = j.add(trace.Event{Cause: by.cause, Actor: by.actor, Object: derive.Ref(obj), Detail: trace.Wrote{
		Verb: r.verb, Subresource: r.subresource, ResourceVersion: obj.GetResourceVersion(), Code: codeFor(r.verb),
	}})
	j.take(obj, by)
	j.land(r, obj.GetName())
}

// refused traces a write that failed.
func (j *journal) refused(r request, by author, err error) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(trace.Event{Cause: by.cause, Actor: by.actor, Object: r.ref, Detail: trace.Wrote{
		Verb: r.verb, Subresource: r.subresource, Code: codeOf(err), Error: err.Error(),
	}})
	j.land(r, "")
}

// land ends a write and lets go of what it held back: the versions of the
// object it made and, when no other write of the kind is under way, all.
func (j *journal) land(r request, name string) {
	f := j.flights[r.ref]
	if f.writes--; f.writes == 0 {
		delete(j.flights, r.ref)
	}
	held := f.held
	f.held = nil
	for _, obj := range held {
		if f.writes == 0 || obj.GetName() == name {
			j.take(obj, author{})
		} else {
			f.held = append(f.held, obj)
		}
	}
}

// holds keeps a delivered version back while a write that may have made it has no answer.
func (j *journal) holds(obj Object) bool {
	ref := derive.Ref(obj)
	f := j.flights[ref]
	if _, known := j.known[ref]; f == nil && !known && obj.GetGenerateName() != "" {
		ref.Name = obj.GetGenerateName()
		f = j.flights[ref]
	}
	if f == nil {
		return false
	}
	f.held = append(f.held, obj)
	return true
}

func codeFor(verb string) int {
	if verb == "create" {
		return http.StatusCreated
	}
	return http.StatusOK
}

// codeOf is the HTTP status of an error; 0 when there was no answer at all.
func codeOf(err error) int {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

// graveyard remembers the latest thousands of removed objects: a slower watch
// may still bring an old version of one.
type graveyard struct{ recent, older map[types.UID]struct{} }

const graves = 8192

func (g *graveyard) bury(uid types.UID) {
	if g.recent == nil || len(g.recent) >= graves {
		g.older, g.recent = g.recent, map[types.UID]struct{}{}
	}
	g.recent[uid] = struct{}{}
}

func (g *graveyard) has(uid types.UID) bool {
	_, recent := g.recent[uid]
	_, older := g.older[uid]
	return recent || older
}
