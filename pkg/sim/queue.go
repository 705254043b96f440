package sim

import (
	"math"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// Rate limits of the controllers' work queues (client-go util/workqueue DefaultTypedControllerRateLimiter).
const (
	retryBase   = 5 * time.Millisecond
	retryMax    = 1000 * time.Second
	bucketQPS   = 10
	bucketBurst = 100
)

// queue is a rate-limited work queue in virtual time, with the semantics of
// client-go's: a key is handled by one worker at a time, additions meanwhile
// coalesce into one more run, and of several delayed additions the earliest stays.
type queue struct {
	loop     *loop
	bucket   *limiter
	ready    line[engine.Key]
	dirty    map[engine.Key]bool
	running  map[engine.Key]bool
	failures map[engine.Key]int
	delayed  map[engine.Key]*item
	// added is told of each key that enters the queue and was not in it.
	added func(engine.Key)
	// wake is told when a key can be taken.
	wake func()
	// later binds a delayed addition to the event at hand; limited is told of each rate-limited one.
	later   func(func()) func()
	limited func(engine.Key, time.Duration)
}

func newQueue(l *loop, added func(engine.Key), wake func()) *queue {
	return &queue{
		loop: l, bucket: newLimiter(l, bucketQPS, bucketBurst),
		dirty: map[engine.Key]bool{}, running: map[engine.Key]bool{},
		failures: map[engine.Key]int{}, delayed: map[engine.Key]*item{},
		added: added, wake: wake,
	}
}

func (q *queue) Add(key engine.Key) {
	if q.dirty[key] {
		return
	}
	q.dirty[key] = true
	q.added(key)
	if !q.running[key] {
		q.ready.push(key)
		q.wake()
	}
}

func (q *queue) AddAfter(key engine.Key, delay time.Duration) {
	if delay <= 0 {
		q.Add(key)
		return
	}
	when := q.loop.after(delay)
	if pending, ok := q.delayed[key]; ok {
		if when >= pending.when {
			return
		}
		q.loop.cancel(pending)
	}
	q.delayed[key] = q.loop.idleAt(when, q.later(func() {
		delete(q.delayed, key)
		q.Add(key)
	}))
}

func (q *queue) AddRateLimited(key engine.Key) {
	delay := q.retryDelay(key)
	q.limited(key, delay)
	q.AddAfter(key, delay)
}

// retryDelay is the larger of the key's own backoff and the queue's token bucket.
func (q *queue) retryDelay(key engine.Key) time.Duration {
	n := q.failures[key]
	q.failures[key] = n + 1
	backoff := retryMax
	if f := float64(retryBase) * math.Pow(2, float64(n)); f < float64(retryMax) {
		backoff = time.Duration(f)
	}
	return max(backoff, q.bucket.reserve()-q.loop.now)
}

func (q *queue) NumRequeues(key engine.Key) int { return q.failures[key] }

func (q *queue) Forget(key engine.Key) { delete(q.failures, key) }

// take gives the next key to a worker.
func (q *queue) take() (engine.Key, bool) {
	if q.ready.len() == 0 {
		return engine.Key{}, false
	}
	key := q.ready.pop()
	delete(q.dirty, key)
	q.running[key] = true
	return key, true
}

// done ends a worker's run; a key added meanwhile becomes ready again.
func (q *queue) done(key engine.Key) {
	delete(q.running, key)
	if q.dirty[key] {
		q.ready.push(key)
		q.wake()
	}
}
