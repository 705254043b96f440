package sim

import (
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// recorder writes a controller's Kubernetes Events as client-go does: one after
// the other behind the controller's back, aggregated and filtered by client-go's
// own code, under the same client limit as everything else the controller
// writes. That is why events slow large rollouts down.
type recorder struct {
	actor     *actor
	component string
	limiter   *limiter
	similar   *record.EventAggregator
	spam      *record.EventSourceObjectSpamFilter
	observed  map[string]bool // events that stand in the API, by their key
	event     corev1.Event    // the one being written; client-go's filters keep none
	pending   line[said]
	writing   bool
	// unheard are events that were dropped, of which the aggregator has not heard yet.
	unheard []dropped
	hearing time.Time // what the aggregator takes for the present
}

// What client-go's recorders keep and allow (tools/record/events_cache.go).
const (
	eventCacheSize = 4096
	maxSimilar     = 10
	similarSeconds = 600
	spamBurst      = 25
	spamQPS        = 1. / 300.
)

// said is an event on its way to the API.
type said struct {
	object                     trace.Ref
	uid                        types.UID
	eventType, reason, message string
	at                         metav1.Time
	cause                      trace.Seq
}

// event makes the object that is written.
func (s *said) event(component string) corev1.Event {
	o := s.object
	return corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		InvolvedObject: corev1.ObjectReference{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: s.uid},
		Source:         corev1.EventSource{Component: component},
		Type:           s.eventType, Reason: s.reason, Message: s.message,
		FirstTimestamp: s.at, LastTimestamp: s.at, Count: 1,
	}
}

// dropped is an event that the spam filter did not let through.
type dropped struct {
	said
	when time.Time
}

var _ engine.Recorder = &recorder{}

func newRecorder(a *actor, component string, l *limiter) *recorder {
	r := &recorder{actor: a, component: component, limiter: l, observed: map[string]bool{}}
	r.similar = record.NewEventAggregator(eventCacheSize, record.EventAggregatorByReasonFunc, record.EventAggregatorByReasonMessageFunc,
		maxSimilar, similarSeconds, &hearing{r})
	r.spam = record.NewEventSourceObjectSpamFilter(eventCacheSize, spamBurst, spamQPS, &a.world.loop, spamKey)
	return r
}

// hearing is the aggregator's clock.
type hearing struct{ *recorder }

// Now is when what it hears of happened.
func (h *hearing) Now() time.Time { return h.hearing }

// Since makes it a clock.PassiveClock.
func (h *hearing) Since(t time.Time) time.Duration { return h.hearing.Sub(t) }

// Event says something about an object.
func (r *recorder) Event(object runtime.Object, eventType, reason, message string) {
	obj, ok := object.(Object)
	if !ok {
		return
	}
	ref := RefOf(obj)
	seq := r.actor.Emit(ref, trace.Recorded{EventType: eventType, Reason: reason, Message: message})
	r.pending.push(said{ref, obj.GetUID(), eventType, reason, message, r.actor.world.now(), seq})
	if !r.writing {
		r.writing = true
		w := r.actor.world
		w.loop.soon(func() { w.spawn(nil, r.drain) })
	}
}

// drain writes what is pending, one call after the other.
func (r *recorder) drain(t *task) {
	for r.pending.len() > 0 && !t.dead {
		next := r.pending.pop()
		now := t.world.loop.Now()
		if r.event = next.event(r.component); r.spam.Filter(&r.event) {
			r.unheard = append(r.unheard, dropped{next, now})
			continue
		}
		for i := range r.unheard {
			r.event = r.unheard[i].event(r.component)
			r.aggregate(r.unheard[i].when)
		}
		r.unheard = r.unheard[:0]
		r.event = next.event(r.component)
		event, again := r.aggregate(now)
		r.write(t, next, event, again)
	}
	r.writing = false
}

// aggregate has the aggregator hear of the event at hand, which comes first to
// it in client-go: what is dropped behind it counts as similar to what is not.
// It takes longer than the filter, whose answer does not depend on it, so that
// of dropped events it hears only when one is let through. again says that the
// event stands in the API already.
func (r *recorder) aggregate(when time.Time) (event *corev1.Event, again bool) {
	r.hearing = when
	event, key := r.similar.EventAggregate(&r.event)
	again = r.observed[key]
	r.observed[key] = true
	return event, again
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

// write sends one event: again means that it stands in the API already and its count is raised.
func (r *recorder) write(t *task, s said, event *corev1.Event, again bool) {
	w := t.world
	t.sleepUntil(r.limiter.reserve())
	t.sleepUntil(w.loop.after(w.draw(WriteEvent, r.actor.rand)))
	if t.dead {
		return
	}
	verb, code := "create", http.StatusCreated
	if again {
		verb, code = "patch", http.StatusOK
	}
	w.emit(trace.Event{Cause: s.cause, Actor: r.actor.name, Object: trace.Ref{Kind: "Event", Namespace: event.Namespace, Name: event.Name},
		Detail: trace.Wrote{Verb: verb, ResourceVersion: w.store.nextVersion(), Code: code}})
}
