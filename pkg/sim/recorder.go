package sim

import (
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// recorder writes a controller's Kubernetes Events as client-go does: one after
// the other behind the controller's back, aggregated, filtered by client-go's own
// code, under the same client limit as everything else the controller writes.
// That is why events slow large rollouts down.
type recorder struct {
	actor      *actor
	limiter    *limiter
	correlator *correlator
	spam       *record.EventSourceObjectSpamFilter
	event      corev1.Event // what the filter looks at; it keeps none
	pending    line[said]
	writing    bool
}

// What the spam filter lets through (tools/record/events_cache.go).
const (
	spamBurst = 25
	spamQPS   = 1. / 300.
)

// mostWaiting is how many events wait to be written; others are lost (event.go
// maxQueuedEvents).
const mostWaiting = 1000

// said is an event on its way to the API.
type said struct {
	object                     trace.Ref
	uid                        types.UID
	eventType, reason, message string
	when                       time.Time
	cause                      trace.Seq
}

var _ engine.Recorder = &recorder{}

func newRecorder(a *actor, l *limiter) *recorder {
	return &recorder{
		actor: a, limiter: l, correlator: newCorrelator(stream(a.world.cfg.Seed, a.name+" events")),
		spam: record.NewEventSourceObjectSpamFilter(eventCacheSize, spamBurst, spamQPS, &a.world.loop, spamKey),
	}
}

// Event says something about an object.
func (r *recorder) Event(object runtime.Object, eventType, reason, message string) {
	obj, ok := object.(Object)
	if !ok {
		return
	}
	ref := RefOf(obj)
	seq := r.actor.Emit(ref, trace.Recorded{EventType: eventType, Reason: reason, Message: message})
	w := r.actor.world
	if r.pending.len() == mostWaiting && !w.settling && !w.cfg.Timing.Instant() {
		return
	}
	r.pending.push(said{ref, obj.GetUID(), eventType, reason, message, w.loop.Now(), seq})
	if !r.writing {
		r.writing = true
		w.loop.soon(func() { w.spawn(nil, r.drain) })
	}
}

// drain writes what is pending, one after the other.
func (r *recorder) drain(t *task) {
	for r.pending.len() > 0 && !t.dead {
		next := r.pending.pop()
		// What is dropped after that counts as similar to what is not.
		event, again := r.correlator.correlate(&next, t.world.loop.Now())
		if !r.drops(next.object, next.uid) {
			r.write(t, &next, event, again)
		}
	}
	r.writing = false
}

// drops has the spam filter count one Event about an object.
func (r *recorder) drops(o trace.Ref, uid types.UID) bool {
	r.event.InvolvedObject = corev1.ObjectReference{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: uid}
	return r.spam.Filter(&r.event)
}

// spamKey is what the filter counts by: the source, of which a recorder has one,
// and the object.
func spamKey(e *corev1.Event) string {
	o := &e.InvolvedObject
	if o.UID != "" {
		return string(o.UID)
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// write sends one event: one that was to be written before is patched, and
// created when that finds none, since it was dropped then (recordEvent).
func (r *recorder) write(t *task, s *said, event *logged, again bool) {
	switch {
	case !r.call(t):
	case again && event.stands:
		r.wrote(s, event, trace.Wrote{Verb: "patch", ResourceVersion: r.actor.world.store.nextVersion(), Code: http.StatusOK})
	case again:
		err := apierrors.NewNotFound(corev1.Resource("events"), event.name)
		r.wrote(s, event, trace.Wrote{Verb: "patch", Code: http.StatusNotFound, Error: err.Error()})
		r.write(t, s, event, false)
	default:
		event.stands = true
		r.wrote(s, event, trace.Wrote{Verb: "create", ResourceVersion: r.actor.world.store.nextVersion(), Code: http.StatusCreated})
	}
}

// call waits as long as a request takes; false when the world ends meanwhile.
func (r *recorder) call(t *task) bool {
	w := t.world
	t.sleepUntil(r.limiter.reserve())
	t.sleepUntil(w.loop.after(w.draw(WriteEvent, r.actor.rand)))
	return !t.dead
}

func (r *recorder) wrote(s *said, event *logged, d trace.Wrote) {
	r.actor.world.emit(trace.Event{Cause: s.cause, Actor: r.actor.name, Object: trace.Ref{Kind: "Event", Namespace: s.object.Namespace, Name: event.name}, Detail: d})
}
