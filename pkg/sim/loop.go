package sim

import "time"

// item is one pending call of the loop.
type item struct {
	when  time.Time
	seq   uint64
	fn    func()
	index int // in the heap; -1 when run or cancelled
	// idle items are timers that a world may end without: a queue's delayed
	// keys, periodic work. All others are activity.
	idle bool
}

// loop is the only thing that moves virtual time: a heap of calls ordered by
// (time, order of insertion). Equal times run first in, first out, so a world
// in which nothing takes time still settles breadth first.
type loop struct {
	now      time.Time
	seq      uint64
	heap     []*item
	activity int // pending items that are not idle
}

func (l *loop) Now() time.Time { return l.now }

// Since makes the loop a clock.PassiveClock.
func (l *loop) Since(t time.Time) time.Duration { return l.now.Sub(t) }

// at runs fn at a time; one in the past means now.
func (l *loop) at(when time.Time, fn func()) *item {
	it := &item{when: when, seq: l.ticket(), fn: fn}
	l.push(it)
	return it
}

// ticket is a place in line among the items of one time.
func (l *loop) ticket() uint64 {
	l.seq++
	return l.seq
}

// idleAt is at for a timer that does not keep the world going.
func (l *loop) idleAt(when time.Time, fn func()) *item {
	it := &item{when: when, seq: l.ticket(), fn: fn, idle: true}
	l.push(it)
	return it
}

func (l *loop) push(it *item) {
	if it.when.Before(l.now) {
		it.when = l.now
	}
	it.index = len(l.heap)
	l.heap = append(l.heap, it)
	l.up(it.index)
	if !it.idle {
		l.activity++
	}
}

// cancel takes a pending item back and reports whether it was still pending.
func (l *loop) cancel(it *item) bool {
	if it == nil || it.index < 0 {
		return false
	}
	l.removeAt(it.index)
	return true
}

// next is the time of the earliest pending item.
func (l *loop) next() (time.Time, bool) {
	if len(l.heap) == 0 {
		return time.Time{}, false
	}
	return l.heap[0].when, true
}

// step runs the earliest pending item.
func (l *loop) step() {
	it := l.heap[0]
	l.removeAt(0)
	l.now = it.when
	it.fn()
}

func (l *loop) removeAt(i int) {
	it, last := l.heap[i], len(l.heap)-1
	if i != last {
		l.swap(i, last)
	}
	l.heap[last] = nil
	l.heap = l.heap[:last]
	if i != last {
		l.down(i)
		l.up(i)
	}
	it.index = -1
	if !it.idle {
		l.activity--
	}
}

func (l *loop) less(i, j int) bool {
	a, b := l.heap[i], l.heap[j]
	if c := a.when.Compare(b.when); c != 0 {
		return c < 0
	}
	return a.seq < b.seq
}

func (l *loop) swap(i, j int) {
	l.heap[i], l.heap[j] = l.heap[j], l.heap[i]
	l.heap[i].index, l.heap[j].index = i, j
}

func (l *loop) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !l.less(i, parent) {
			return
		}
		l.swap(i, parent)
		i = parent
	}
}

func (l *loop) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(l.heap) {
			return
		}
		if child+1 < len(l.heap) && l.less(child+1, child) {
			child++
		}
		if !l.less(child, i) {
			return
		}
		l.swap(i, child)
		i = child
	}
}
