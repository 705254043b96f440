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
	crowds    map[similarity]*crowd
	hearing   time.Time // what the aggregator takes for the present
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

var _ engine.Recorder = &recorder{}

func newRecorder(a *actor, component string, l *limiter) *recorder {
	r := &recorder{actor: a, component: component, limiter: l, observed: map[string]bool{}, crowds: map[similarity]*crowd{}}
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
		d := dropped{next, t.world.loop.Now()}
		c := r.crowdOf(&next)
		if r.event = next.event(r.component); r.spam.Filter(&r.event) {
			if c.drop(d); len(c.unheard) > mostUnheard || len(r.crowds) > eventCacheSize {
				r.catchUp(c)
			}
			continue
		}
		r.catchUp(c)
		event, again := r.hear(c, &d)
		r.write(t, next, event, again)
	}
	r.writing = false
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
