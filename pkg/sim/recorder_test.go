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

// Events are written under the names, and as often, as when client-go's
// aggregator hears of every one at once, before the filter.
func TestAggregatorHearsLater(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		log := trace.NewLog()
		w := New(Config{Start: start, Log: log, Controllers: []engine.Spec{{Name: "replicaset", Component: "c", Watches: []string{ReplicaSets}, Controller: idle{}}}})
		r := w.runners[0].recorder
		clock := testclock.NewFakePassiveClock(start)
		similar := record.NewEventAggregator(eventCacheSize, record.EventAggregatorByReasonFunc, record.EventAggregatorByReasonMessageFunc, maxSimilar, similarSeconds, clock)
		spam := record.NewEventSourceObjectSpamFilter(eventCacheSize, spamBurst, spamQPS, clock,
			func(e *corev1.Event) string { return e.Source.Component + "/" + e.InvolvedObject.Name })
		var want []string
		for n := range rapid.IntRange(1, 120).Draw(t, "events") {
			pause := rapid.SampledFrom([]time.Duration{0, 0, 0, 0, time.Second, 301 * time.Second, 600 * time.Second, 601 * time.Second}).Draw(t, "pause")
			if err := w.Advance(t.Context(), pause); err != nil {
				t.Fatal(err)
			}
			clock.SetTime(w.Now())
			name := rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "object")
			rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
			reason, message := rapid.SampledFrom([]string{"Made", "Made", "Gone"}).Draw(t, "reason"), fmt.Sprint("pod ", n)
			r.Event(rs, "Normal", reason, message)
			s := said{object: RefOf(rs), uid: rs.UID, eventType: "Normal", reason: reason, message: message}
			heard := s.event("c")
			if event, _ := similar.EventAggregate(&heard); !spam.Filter(event) {
				want = append(want, event.Name)
			}
		}
		if err := w.Advance(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range log.Events() {
			if _, ok := e.Detail.(trace.Wrote); ok {
				got = append(got, e.Object.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("wrote %v, want %v", got, want)
		}
	})
}
