package live

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// queue is client-go's rate-limited work queue with upstream's limits. It
// remembers for the trace what put each waiting key into it.
type queue struct {
	workqueue.TypedRateLimitingInterface[engine.Key]
	limiter workqueue.TypedRateLimiter[engine.Key]
	// entering is told of a key that was not waiting, with what it follows from.
	entering func(key engine.Key, cause trace.Seq) trace.Seq

	mu      sync.Mutex
	entered map[engine.Key]trace.Seq // by waiting key
	later   map[engine.Key]trace.Seq // what a delayed key follows from
}

func newQueue(name string, entering func(engine.Key, trace.Seq) trace.Seq) *queue {
	q := &queue{
		limiter:  workqueue.DefaultTypedControllerRateLimiter[engine.Key](),
		entering: entering,
		entered:  map[engine.Key]trace.Seq{}, later: map[engine.Key]trace.Seq{},
	}
	door := &door{workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[engine.Key]{Name: name}), q}
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[engine.Key]{Name: name, Queue: door})
	q.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(q.limiter,
		workqueue.TypedRateLimitingQueueConfig[engine.Key]{Name: name, DelayingQueue: delaying})
	return q
}

// door is the inner queue, which keys enter at once or when their delay is over.
type door struct {
	workqueue.TypedInterface[engine.Key]
	queue *queue
}

// Add is also the delaying queue's way in.
func (d *door) Add(key engine.Key) {
	d.queue.enter(key, func() trace.Seq { return d.queue.later[key] })
	d.TypedInterface.Add(key)
}

// enter notes that a key is about to wait, unless it waits already.
func (q *queue) enter(key engine.Key, cause func() trace.Seq) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, waiting := q.entered[key]; !waiting {
		q.entered[key] = q.entering(key, cause())
		delete(q.later, key)
	}
}

// take waits for the next key and says what put it there; false when the queue has shut down.
func (q *queue) take() (key engine.Key, cause trace.Seq, ok bool) {
	key, shutdown := q.Get()
	q.mu.Lock()
	defer q.mu.Unlock()
	cause = q.entered[key]
	delete(q.entered, key)
	return key, cause, !shutdown
}

// bound is the queue in the hands of one pass or observation.
type bound struct {
	*queue
	// cause is what additions follow from; it is asked only for those that are news.
	cause func() trace.Seq
	// limited is told of each key put behind the rate limit.
	limited func(key engine.Key, delay time.Duration)
}

var _ engine.Queue = bound{}

func (b bound) Add(key engine.Key) {
	b.enter(key, b.cause)
	b.queue.Add(key)
}

func (b bound) AddAfter(key engine.Key, delay time.Duration) {
	b.delay(key)
	b.queue.AddAfter(key, delay)
}

func (b bound) AddRateLimited(key engine.Key) {
	delay := b.limiter.When(key)
	b.limited(key, delay)
	b.AddAfter(key, delay)
}

// delay notes what a delayed key follows from.
func (b bound) delay(key engine.Key) {
	cause := b.cause()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.later[key] = cause
}
