package live

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// entries notes what enters a queue, with its cause; numbers go on from 100.
type entries struct {
	keys   []string
	causes []trace.Seq
}

func (e *entries) enter(key engine.Key, cause trace.Seq) trace.Seq {
	e.keys, e.causes = append(e.keys, key.Name), append(e.causes, cause)
	return trace.Seq(99 + len(e.keys))
}

func from(q *queue, cause trace.Seq, limited *[]time.Duration) bound {
	return bound{q, func() trace.Seq { return cause }, func(_ engine.Key, d time.Duration) { *limited = append(*limited, d) }}
}

func TestQueue(t *testing.T) {
	var in entries
	var delays []time.Duration
	q := newQueue("test", in.enter)
	defer q.ShutDown()
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}

	from(q, 1, &delays).Add(a)
	from(q, 2, &delays).Add(a) // waits already: no news
	from(q, 3, &delays).AddAfter(b, 20*time.Millisecond)
	if key, cause, ok := q.take(); key != a || cause != 100 || !ok {
		t.Errorf("took %v because of %d (%v), want a because of 100", key, cause, ok)
	}
	from(q, 4, &delays).Add(a) // is being handled: waits for one more turn
	if n := q.Len(); n != 0 {
		t.Errorf("%d keys can be taken while a is handled, want none", n)
	}
	q.Done(a)
	if key, cause, _ := q.take(); key != a || cause != 101 {
		t.Errorf("took %v because of %d, want a because of 101", key, cause)
	}
	q.Done(a)
	if key, cause, _ := q.take(); key != b || cause != 102 {
		t.Errorf("took %v because of %d, want b, delayed, because of 102", key, cause)
	}
	q.Done(b)
	if got := in.causes; len(got) != 3 || got[0] != 1 || got[1] != 4 || got[2] != 3 {
		t.Errorf("the entries follow from %v, want 1, 4 and 3", got)
	}
}

// The backoff of one key is upstream's: 5 ms, doubled with each failure.
func TestQueueBackoff(t *testing.T) {
	var in entries
	var delays []time.Duration
	q := newQueue("test", in.enter)
	defer q.ShutDown()
	key := types.NamespacedName{Name: "a"}
	b := from(q, 1, &delays)
	for range 3 {
		b.AddRateLimited(key)
		q.take()
		q.Done(key)
	}
	for i, want := range []time.Duration{5, 10, 20} {
		if delays[i] != want*time.Millisecond {
			t.Errorf("delay %d is %s, want %d ms", i, delays[i], want)
		}
	}
	if n := b.NumRequeues(key); n != 3 {
		t.Errorf("%d requeues, want 3", n)
	}
	b.Forget(key)
	if n := b.NumRequeues(key); n != 0 {
		t.Errorf("%d requeues after Forget, want none", n)
	}
}
