package scheduler

import (
	"container/heap"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Back-off of pods that could not be placed (backend/queue/scheduling_queue.go).
const (
	backOffFirst = time.Second
	backOffMax   = 10 * time.Second
	// backOffWindow: the ends of back-offs are cut to whole windows.
	backOffWindow = time.Second
)

// place in the queue of a pod that waits to be scheduled.
type standing uint8

const (
	inFlight         standing = iota // being looked at
	active                           // next in line
	backingOff                       // to be tried again, but not yet
	unschedulableNow                 // until something changes
)

// entry is one pod in the queue.
type entry struct {
	number   int
	pod      *corev1.Pod
	priority int32
	since    time.Time // when it was last put into the queue
	seq      uint64    // breaks ties: the order of arrival
	failures int       // in a row
	until    time.Time // end of its back-off
	faulty   bool      // backs off because of an error, not because no node fits
	by       blockers  // who refused it last
	message  string    // why it was refused last
	cause    trace.Seq // what brought it to be looked at: its creation, or what woke it
	standing standing
	index    int
	// nominated is the node on which room is being made for it.
	nominated string
	// preempting pods are not tried again before their victims are deleted.
	preempting bool
}

// blockers are the filters that refused a pod, one bit each; none when there
// was no node to ask.
type blockers uint16

// queue is the pods without a node: the active ones by priority and
// then age, those that back off, and those that nothing can be done for yet.
type queue struct {
	all     sim.Known[entry]
	ready   byRank
	resting []*entry // backing off, in the order in which they came
	stuck   []*entry // unschedulable, likewise
	seq     uint64
}

// has says whether an entry has not been dropped.
func (q *queue) has(e *entry) bool { return q.all.At(e.number, e.pod.UID) == e }

// add takes in a new pod.
func (q *queue) add(number int, pod *corev1.Pod, now time.Time, cause trace.Seq) {
	q.seq++
	e := &entry{number: number, pod: pod, since: now, seq: q.seq, cause: cause}
	if pod.Spec.Priority != nil {
		e.priority = *pod.Spec.Priority
	}
	q.all.Set(number, pod.UID, e)
	q.activate(e)
}

func (q *queue) activate(e *entry) {
	e.standing = active
	heap.Push(&q.ready, e)
}

// drop takes a pod out wherever it stands.
func (q *queue) drop(e *entry) {
	if !q.has(e) {
		return
	}
	q.all.Set(e.number, e.pod.UID, nil)
	same := func(o *entry) bool { return o == e }
	switch e.standing {
	case active:
		heap.Remove(&q.ready, e.index)
	case backingOff:
		q.resting = slices.DeleteFunc(q.resting, same)
	case unschedulableNow:
		q.stuck = slices.DeleteFunc(q.stuck, same)
	}
}

// pop is the next pod to look at. With early, pods whose back-off has not ended
// are taken when no other is there, but not those that met an error.
func (q *queue) pop(now time.Time, early bool) *entry {
	q.resting = slices.DeleteFunc(q.resting, func(e *entry) bool {
		over := e.until.Before(window(now, early))
		if over {
			q.activate(e)
		}
		return over
	})
	if len(q.ready) > 0 {
		return q.take(heap.Pop(&q.ready).(*entry))
	}
	if !early {
		return nil
	}
	var first *entry
	for _, e := range q.resting {
		if !e.faulty && (first == nil || e.until.Before(first.until) || e.until.Equal(first.until) && outranks(e, first)) {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	q.resting = slices.DeleteFunc(q.resting, func(e *entry) bool { return e == first })
	return q.take(first)
}

func (q *queue) take(e *entry) *entry {
	e.standing = inFlight
	return e
}

// window is the time that ends of back-offs are held against: the start of the
// present window, in releases that have windows.
func window(now time.Time, windows bool) time.Time {
	if windows {
		return now.Truncate(backOffWindow)
	}
	return now.Add(time.Nanosecond)
}

// nextEnd is when the next back-off ends; zero when none is pending.
func (q *queue) nextEnd(windows bool) time.Time {
	var next time.Time
	for _, e := range q.resting {
		end := e.until
		if windows {
			end = end.Truncate(backOffWindow).Add(backOffWindow)
		}
		if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	return next
}

// park puts a pod that no node takes aside until an occasion it waits for.
func (q *queue) park(e *entry, by blockers, now time.Time, windows bool) {
	e.fail(now, windows)
	e.by, e.faulty, e.standing = by, false, unschedulableNow
	q.stuck = append(q.stuck, e)
}

// retry puts a pod that met an error behind its back-off.
func (q *queue) retry(e *entry, now time.Time, windows bool) {
	e.fail(now, windows)
	e.faulty, e.standing = true, backingOff
	q.resting = append(q.resting, e)
}

func (e *entry) fail(now time.Time, windows bool) {
	e.failures++
	e.since = now
	wait := backOffMax
	if shift := e.failures - 1; shift < 4 {
		wait = min(wait, backOffFirst<<shift)
	}
	e.until = now.Add(wait)
	if windows {
		e.until = e.until.Truncate(backOffWindow)
	}
}

// wake moves the pods that a change may help on: behind what is left of their
// back-off or straight into line. It reports whether any moved.
func (q *queue) wake(helped func(*entry) bool, now time.Time, windows bool, cause trace.Seq) bool {
	moved := false
	q.stuck = slices.DeleteFunc(q.stuck, func(e *entry) bool {
		if e.preempting || !helped(e) {
			return false
		}
		moved, e.cause = true, cause
		if e.until.Before(window(now, windows)) {
			q.activate(e)
		} else {
			e.standing = backingOff
			q.resting = append(q.resting, e)
		}
		return true
	})
	return moved
}

// byRank is a heap: priority, then time in the queue, then arrival.
type byRank []*entry

func outranks(a, b *entry) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if !a.since.Equal(b.since) {
		return a.since.Before(b.since)
	}
	return a.seq < b.seq
}

func (h byRank) Len() int           { return len(h) }
func (h byRank) Less(i, j int) bool { return outranks(h[i], h[j]) }
func (h byRank) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is for container/heap.
func (h *byRank) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop is for container/heap.
func (h *byRank) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
