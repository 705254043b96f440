package sim

import (
	"math"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// item is one pending call of the loop. Who calls often keeps an item of their
// own and pushes it again.
type item struct {
	when  time.Duration // since the loop's epoch
	fn    func()
	cause trace.Seq // the event that the call follows from
	place int       // in the heap, from 1 on; 0 when not pending
	// idle items are timers that a world may end without: a queue's delayed
	// keys, periodic work. All others are activity.
	idle bool
}

// slot is an item's place in the heap, with what it is ordered by beside it:
// to compare two items, neither has to be fetched.
type slot struct {
	when time.Duration
	seq  uint64
	item *item
}

func (s *slot) before(o *slot) bool { return s.when < o.when || s.when == o.when && s.seq < o.seq }

// loop is the only thing that moves virtual time: a heap of calls ordered by
// (time, order of insertion). Equal times run first in, first out, so a world
// in which nothing takes time still settles breadth first. Times are counted
// from an epoch, at most 290 years away.
type loop struct {
	now      time.Duration
	epoch    time.Time
	seq      uint64
	heap     []slot
	soonest  line[prompt] // of this moment, in the order of insertion
	activity int          // pending items that are not idle
}

func newLoop(epoch time.Time) loop { return loop{epoch: epoch} }

// Now is the present as a date.
func (l *loop) Now() time.Time { return l.epoch.Add(l.now) }

// Since makes the loop a clock.PassiveClock.
func (l *loop) Since(t time.Time) time.Duration { return l.Now().Sub(t) }

// of is a date as the loop counts.
func (l *loop) of(date time.Time) time.Duration { return date.Sub(l.epoch) }

// after is the time d from now.
func (l *loop) after(d time.Duration) time.Duration {
	if when := l.now + d; d <= 0 || when > l.now {
		return when
	}
	return math.MaxInt64
}

// prompt is a call that was made for the moment at hand.
type prompt struct {
	seq uint64
	fn  func()
}

// soon runs fn now, after what else is pending for this moment. Such calls need
// no heap, since time does not go on before they have run.
func (l *loop) soon(fn func()) {
	l.soonest.push(prompt{l.ticket(), fn})
	l.activity++
}

// idleAt runs fn at a time, as a timer that does not keep the world going.
func (l *loop) idleAt(when time.Duration, fn func()) *item {
	it := &item{when: when, fn: fn, idle: true}
	l.push(it)
	return it
}

// ticket is a place in line among the items of one time.
func (l *loop) ticket() uint64 {
	l.seq++
	return l.seq
}

// push makes an item pending, the last of its time; one in the past means now.
func (l *loop) push(it *item) { l.pushAs(it, l.ticket()) }

// pushAs makes an item pending under a ticket drawn before.
func (l *loop) pushAs(it *item, ticket uint64) {
	it.when = max(it.when, l.now)
	l.heap = append(l.heap, slot{})
	l.up(len(l.heap)-1, slot{it.when, ticket, it})
	if !it.idle {
		l.activity++
	}
}

// cancel takes a pending item back and reports whether it was still pending.
func (l *loop) cancel(it *item) bool {
	if it == nil || it.place == 0 {
		return false
	}
	l.removeAt(it.place - 1)
	return true
}

// next is the time of the earliest pending item.
func (l *loop) next() (time.Duration, bool) {
	switch {
	case l.soonest.len() > 0:
		return l.now, true
	case len(l.heap) == 0:
		return 0, false
	}
	return l.heap[0].when, true
}

// pop takes the earliest pending call out, with its cause, and time goes on to it.
func (l *loop) pop() (fn func(), cause trace.Seq) {
	if l.soonest.len() > 0 {
		first := l.soonest.first()
		if len(l.heap) == 0 || !l.heap[0].before(&slot{when: l.now, seq: first.seq}) {
			l.activity--
			return l.soonest.pop().fn, 0
		}
	}
	it := l.heap[0].item
	l.removeAt(0)
	l.now = it.when
	return it.fn, it.cause
}

func (l *loop) removeAt(i int) {
	it := l.heap[i].item
	last := len(l.heap) - 1
	moved := l.heap[last]
	l.heap[last] = slot{}
	l.heap = l.heap[:last]
	switch {
	case i == last:
	case i > 0 && moved.before(&l.heap[(i-1)/arity]):
		l.up(i, moved)
	default:
		l.down(i, moved)
	}
	it.place = 0
	if !it.idle {
		l.activity--
	}
}

// arity is how many children a place of the heap has: with four the heap is
// half as deep as with two, and siblings lie next to one another.
const arity = 4

func (l *loop) put(i int, s slot) {
	l.heap[i] = s
	s.item.place = i + 1
}

// up puts s where it belongs on the way from the free place i to the top.
func (l *loop) up(i int, s slot) {
	for i > 0 {
		parent := (i - 1) / arity
		if !s.before(&l.heap[parent]) {
			break
		}
		l.put(i, l.heap[parent])
		i = parent
	}
	l.put(i, s)
}

// down puts s where it belongs on the way from the free place i to the bottom.
func (l *loop) down(i int, s slot) {
	for {
		first := arity*i + 1
		if first >= len(l.heap) {
			break
		}
		least := first
		for child := first + 1; child < min(first+arity, len(l.heap)); child++ {
			if l.heap[child].before(&l.heap[least]) {
				least = child
			}
		}
		if !l.heap[least].before(&s) {
			break
		}
		l.put(i, l.heap[least])
		i = least
	}
	l.put(i, s)
}
