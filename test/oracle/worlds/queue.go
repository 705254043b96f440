package worlds

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// queue is client-go's rate-limited work queue, watched: what its controller
// asks of it, and which keys are ready since when.
type queue struct {
	workqueue.TypedRateLimitingInterface[string]
	line *line
	// asked are the controller's calls since they were last taken.
	asked []string
	// turns are keys that the worker may take, one at a time; ended tells that it
	// is through with one.
	turns chan string
	ended chan struct{}
}

func newQueue() *queue {
	l := &line{since: map[string]time.Time{}}
	base := &arrivals{TypedInterface: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: l}), line: l}
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Queue: base})
	return &queue{line: l, turns: make(chan string), ended: make(chan struct{}), TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{DelayingQueue: delaying})}
}

// Get is where upstream's worker waits for its turn.
func (q *queue) Get() (string, bool) {
	key, open := <-q.turns
	if !open {
		return "", true
	}
	q.line.next = key
	return q.TypedRateLimitingInterface.Get()
}

// Done is the last a worker does about a key.
func (q *queue) Done(key string) {
	q.TypedRateLimitingInterface.Done(key)
	q.ended <- struct{}{}
}

// turn lets the worker run once over a key that is ready.
func (q *queue) turn(key string) {
	q.turns <- key
	<-q.ended
}

// ShutDown is called by upstream when its controller ends.
func (q *queue) ShutDown() {
	close(q.turns)
	q.TypedRateLimitingInterface.ShutDown()
}

func (q *queue) Add(key string) {
	q.asked = append(q.asked, "add "+key)
	q.TypedRateLimitingInterface.Add(key)
}

func (q *queue) AddAfter(key string, d time.Duration) {
	q.asked = append(q.asked, fmt.Sprintf("add %s after %v", key, d))
	q.TypedRateLimitingInterface.AddAfter(key, d)
}

func (q *queue) AddRateLimited(key string) {
	q.asked = append(q.asked, "retry "+key)
	q.TypedRateLimitingInterface.AddRateLimited(key)
}

func (q *queue) Forget(key string) {
	q.asked = append(q.asked, "forget "+key)
	q.TypedRateLimitingInterface.Forget(key)
}

func (q *queue) take() []string {
	asked := q.asked
	q.asked = nil
	return asked
}

// arrivals notes when a key became ready.
type arrivals struct {
	workqueue.TypedInterface[string]
	line *line
}

func (a *arrivals) Add(key string) {
	a.line.arrived(key)
	a.TypedInterface.Add(key)
}

func (a *arrivals) Get() (string, bool) {
	key, quit := a.TypedInterface.Get()
	a.line.left(key)
	return key, quit
}

// line holds the ready keys. The key that leaves it next is named from outside:
// keys whose timers end at one moment become ready in no particular order.
type line struct {
	mu    sync.Mutex
	keys  []string
	since map[string]time.Time
	next  string
}

func (l *line) arrived(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, waits := l.since[key]; !waits {
		l.since[key] = time.Now()
	}
}

func (l *line) left(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, key)
}

func (l *line) ready() map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]time.Time{}
	for k, t := range l.since {
		out[k] = t
	}
	return out
}

func (l *line) Touch(string)    {}
func (l *line) Push(key string) { l.keys = append(l.keys, key) }
func (l *line) Len() int        { return len(l.keys) }
func (l *line) Pop() string {
	at := 0
	for i, k := range l.keys {
		if k == l.next {
			at = i
		}
	}
	key := l.keys[at]
	l.keys = append(l.keys[:at:at], l.keys[at+1:]...)
	return key
}
