package sim

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// recorder writes a controller's Kubernetes Events as client-go does: one after
// the other behind the controller's back, aggregated and filtered by the real
// correlator, under the same client limit as everything else the controller
// writes. That is why events slow large rollouts down.
type recorder struct {
	actor      *actor
	component  string
	limiter    *limiter
	correlator *record.EventCorrelator
	pending    []said
	writing    bool
	// written counts what reached the API, for those who ask.
	written int
}

// said is an event on its way to the API.
type said struct {
	event corev1.Event
	cause trace.Seq
}

var _ engine.Recorder = &recorder{}

func newRecorder(a *actor, component string, l *limiter) *recorder {
	return &recorder{
		actor: a, component: component, limiter: l,
		correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{Clock: &a.world.loop}),
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
	now := r.actor.world.now()
	r.pending = append(r.pending, said{cause: seq, event: corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
		InvolvedObject: corev1.ObjectReference{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: obj.GetUID()},
		Source:         corev1.EventSource{Component: r.component},
		Type:           eventType, Reason: reason, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}})
	if !r.writing {
		r.writing = true
		w := r.actor.world
		w.loop.at(w.loop.now, func() { w.spawn(nil, r.drain) })
	}
}

// drain writes what is pending, one call after the other.
func (r *recorder) drain(t *task) {
	for len(r.pending) > 0 && !t.dead {
		next := r.pending[0]
		r.pending = r.pending[1:]
		result, err := r.correlator.EventCorrelate(&next.event)
		if err != nil || result.Skip {
			continue
		}
		r.write(t, next, result.Event)
	}
	r.writing = false
}

func (r *recorder) write(t *task, s said, event *corev1.Event) {
	w := t.world
	t.sleepUntil(r.limiter.reserve())
	t.sleepUntil(w.loop.now.Add(w.draw(WriteEvent, r.actor.rand)))
	if t.dead {
		return
	}
	r.written++
	verb, code := "create", http.StatusCreated
	if event.Count > 1 {
		verb, code = "patch", http.StatusOK
	}
	w.emit(trace.Event{Cause: s.cause, Actor: r.actor.name, Object: trace.Ref{Kind: "Event", Namespace: event.Namespace, Name: event.Name},
		Detail: trace.Wrote{Verb: verb, ResourceVersion: w.store.nextVersion(), Code: code}})
}
