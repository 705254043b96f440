package live

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// recorder says a controller's Kubernetes Events through client-go's
// broadcaster: one after the other, aggregated and filtered, under the limit of
// the controller's own client.
type recorder struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

func newRecorder(ctx context.Context, component string) *recorder {
	b := record.NewBroadcaster(record.WithContext(ctx))
	return &recorder{b, b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})}
}

// start begins to write what is said.
func (r *recorder) start(client kubernetes.Interface, j *journal, actor string) {
	sink := &coreclient.EventSinkImpl{Interface: client.CoreV1().Events("")}
	r.broadcaster.StartRecordingToSink(&tracedSink{sink, j, actor})
}

// stop ends it; what is still waiting is lost, as upstream's is.
func (r *recorder) stop() { r.broadcaster.Shutdown() }

// passRecorder traces what is said as following from a pass.
type passRecorder struct {
	*recorder
	pass *pass
}

var _ engine.Recorder = passRecorder{}

func (r passRecorder) Event(object runtime.Object, eventType, reason, message string) {
	if obj, ok := object.(Object); ok {
		r.pass.said(derive.Ref(obj), trace.Recorded{EventType: eventType, Reason: reason, Message: message})
	}
	r.recorder.recorder.Event(object, eventType, reason, message)
}

// tracedSink traces the writes of Events.
type tracedSink struct {
	record.EventSink
	journal *journal
	actor   string
}

func (s *tracedSink) Create(e *corev1.Event) (*corev1.Event, error) {
	out, err := s.EventSink.Create(e)
	s.wrote("create", http.StatusCreated, e, out, err)
	return out, err
}

func (s *tracedSink) Update(e *corev1.Event) (*corev1.Event, error) {
	out, err := s.EventSink.Update(e)
	s.wrote("update", http.StatusOK, e, out, err)
	return out, err
}

func (s *tracedSink) Patch(e *corev1.Event, data []byte) (*corev1.Event, error) {
	out, err := s.EventSink.Patch(e, data)
	s.wrote("patch", http.StatusOK, e, out, err)
	return out, err
}

func (s *tracedSink) wrote(verb string, code int, sent, out *corev1.Event, err error) {
	w := trace.Wrote{Verb: verb, Code: code}
	if err != nil {
		w.Code, w.Error = codeOf(err), err.Error()
	} else {
		w.ResourceVersion = out.ResourceVersion
	}
	s.journal.emit(trace.Event{Actor: s.actor, Object: trace.Ref{Kind: "Event", Namespace: sent.Namespace, Name: sent.Name}, Detail: w})
}
