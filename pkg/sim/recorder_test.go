package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Events are written under the names, as often, and by the requests that
// client-go makes of the same: while it keeps few messages in mind, so that it
// need not choose which to forget, or meets each but once.
func TestEventsAreWrittenAsByClientGo(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		log := trace.NewLog()
		w := New(Config{Start: start, Log: log, Controllers: []engine.Spec{{Name: "replicaset", Component: "c", Watches: []string{ReplicaSets}, Controller: idle{}}}})
		r := w.runners[0].recorder
		clock := testclock.NewFakePassiveClock(start)
		theirs := upstream{stands: map[string]bool{}, EventCorrelator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{Clock: clock})}
		different := rapid.SampledFrom([]int{1, 4, 9, 1000}).Draw(t, "messages")
		for n := range rapid.IntRange(1, 120).Draw(t, "events") { // no two at once, since names say when
			pause := rapid.SampledFrom([]time.Duration{1, 1, 1, 1, time.Second, 301 * time.Second, 600 * time.Second, 601 * time.Second}).Draw(t, "pause")
			if err := w.Advance(t.Context(), pause); err != nil {
				t.Fatal(err)
			}
			clock.SetTime(w.Now())
			name := rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "object")
			rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
			reason, message := rapid.SampledFrom([]string{"Made", "Made", "Gone"}).Draw(t, "reason"), fmt.Sprint("pod ", n%different)
			r.Event(rs, "Normal", reason, message)
			theirs.event(rs, reason, message, w.Now())
		}
		if err := w.Advance(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if got := requests(log); !slices.Equal(got, theirs.requests) {
			t.Fatalf("wrote %q, want %q", got, theirs.requests)
		}
	})
}

// upstream is client-go's correlator before an API, as its recorder uses it
// (event.go recordToSink, recordEvent).
type upstream struct {
	*record.EventCorrelator
	stands   map[string]bool
	requests []string
}

func (u *upstream) event(rs *appsv1.ReplicaSet, reason, message string, now time.Time) {
	at := metav1.NewTime(now)
	result, err := u.EventCorrelate(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: rs.Namespace, Name: fmt.Sprintf("%s.%x", rs.Name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{Kind: "ReplicaSet", Namespace: rs.Namespace, Name: rs.Name, UID: rs.UID},
		Type:           "Normal", Reason: reason, Message: message, FirstTimestamp: at, LastTimestamp: at, Count: 1,
	})
	switch {
	case err != nil || result.Skip:
		return
	case result.Event.Count > 1 && u.stands[result.Event.Name]:
		u.requests = append(u.requests, "patch 200 "+result.Event.Name)
	case result.Event.Count > 1:
		u.requests = append(u.requests, "patch 404 "+result.Event.Name)
		fallthrough
	default:
		u.requests = append(u.requests, "create 201 "+result.Event.Name)
		u.stands[result.Event.Name] = true
	}
	u.UpdateState(result.Event)
}

// A thousand Events wait to be written; what comes then is lost.
func TestEventsAreLost(t *testing.T) {
	log := trace.NewLog()
	w := New(Config{Timing: ClusterTiming(), Log: log, Controllers: []engine.Spec{{Name: "replicaset", Watches: []string{ReplicaSets}, Controller: idle{}, QPS: 20, Burst: 30}}})
	for n := range mostWaiting + 500 {
		name := fmt.Sprint("web-", n)
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		w.runners[0].recorder.Event(rs, "Normal", "Made", "")
	}
	if err := w.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := len(requests(log)); got != mostWaiting {
		t.Errorf("%d requests, want %d", got, mostWaiting)
	}
}

// requests are those that wrote Events.
func requests(log *trace.Log) (out []string) {
	for e := range log.All() {
		if d, ok := e.Detail.(trace.Wrote); ok {
			out = append(out, fmt.Sprint(d.Verb, " ", d.Code, " ", e.Object.Name))
		}
	}
	return out
}

// Events are written the same way every time, also where so many different ones
// came that some are forgotten, and those come again.
func TestEventsAreWrittenAlike(t *testing.T) {
	write := func() []string {
		log := trace.NewLog()
		w := New(Config{Seed: 7, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Log: log, Controllers: []engine.Spec{{Name: "deployment", Component: "c", Watches: []string{Deployments}, Controller: idle{}}}})
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}}
		for n := range 24 {
			w.runners[0].recorder.Event(d, "Normal", "ScalingReplicaSet", fmt.Sprint("to ", n%12))
			if err := w.Advance(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
		return requests(log)
	}
	want := write()
	for range 20 {
		if got := write(); !slices.Equal(got, want) {
			t.Fatalf("%q\nand before %q", got, want)
		}
	}
}
