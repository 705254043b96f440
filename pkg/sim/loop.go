package sim

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// item is one pending call of the loop. Who calls often keeps an item of their
// own and pushes it again.
type item struct {
	when  time.Time
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
	offset time.Duration // since the loop's epoch
	seq    uint64
	item   *item
}

func (s *slot) before(o *slot) bool {
	return s.offset < o.offset || s.offset == o.offset && s.seq < o.seq
}

// loop is the only thing that moves virtual time: a heap of calls ordered by
// (time, order of insertion). Equal times run first in, first out, so a world
// in which nothing takes time still settles breadth first.
type loop struct {
	now      time.Time
	epoch    time.Time // any date within 290 years of those at which things happen
	seq      uint64
	heap     []slot
	activity int // pending items that are not idle
}

func newLoop(start time.Time) loop { return loop{now: start, epoch: start} }

func (l *loop) Now() time.Time { return l.now }

// Since makes the loop a clock.PassiveClock.
func (l *loop) Since(t time.Time) time.Duration { return l.now.Sub(t) }

// at runs fn at a time; one in the past means now.
func (l *loop) at(when time.Time, fn func()) { l.push(&item{when: when, fn: fn}) }

// idleAt is at for a timer that does not keep the world going.
func (l *loop) idleAt(when time.Time, fn func()) *item {
	it := &item{when: when, fn: fn, idle: true}
	l.push(it)
	return it
}

// ticket is a place in line among the items of one time.
func (l *loop) ticket() uint64 {
	l.seq++
	return l.seq
}

// push makes an item pending, the last of its time.
func (l *loop) push(it *item) { l.pushAs(it, l.ticket()) }

// pushAs makes an item pending under a ticket drawn before.
func (l *loop) pushAs(it *item, ticket uint64) {
	if it.when.Before(l.now) {
		it.when = l.now
	}
	l.heap = append(l.heap, slot{})
	l.up(len(l.heap)-1, slot{it.when.Sub(l.epoch), ticket, it})
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
func (l *loop) next() (time.Time, bool) {
	if len(l.heap) == 0 {
		return time.Time{}, false
	}
	return l.heap[0].item.when, true
}

// pop takes the earliest pending item out, and time goes on to it.
func (l *loop) pop() *item {
	it := l.heap[0].item
	l.removeAt(0)
	l.now = it.when
	return it
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
