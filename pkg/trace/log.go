package trace

import (
	"iter"
	"slices"
)

// Depth is how much of a run a Log keeps.
type Depth int

// The depths, each with all that the shallower ones keep.
const (
	Decisions Depth = iota // what people and controllers decided, and what it did
	Pods                   // and every pod's life
	Syncs                  // and every pass, delivery, requeue and write
)

// Log keeps the events of one run in order. It is not safe for concurrent use.
type Log struct {
	// Depth is the deepest kind of event that is kept. Events that are not
	// kept still have numbers, so that causes stay true.
	Depth Depth
	// Sink, when set, is told of each kept event as it happens.
	Sink func(Event)

	full   []Event   // of earlier pieces, joined when somebody asked for them
	pieces [][]Event // the kept events after those, in pieces of rising size
	last   Seq
}

// The pieces that events are kept in: a list that grows would be copied again
// and again.
const (
	firstPiece = 64
	mostPiece  = 4096
)

// NewLog keeps everything.
func NewLog() *Log { return &Log{Depth: Syncs} }

// Append numbers an event, keeps it if its depth is wanted and returns its number.
func (l *Log) Append(e Event) Seq {
	l.last++
	e.Seq = l.last
	if DepthOf(e.Detail) <= l.Depth {
		l.keep(e)
		if l.Sink != nil {
			l.Sink(e)
		}
	}
	return e.Seq
}

func (l *Log) keep(e Event) {
	n := len(l.pieces)
	if n == 0 || len(l.pieces[n-1]) == cap(l.pieces[n-1]) {
		size := firstPiece
		if n > 0 {
			size = min(2*cap(l.pieces[n-1]), mostPiece)
		}
		l.pieces, n = append(l.pieces, make([]Event, 0, size)), n+1
	}
	l.pieces[n-1] = append(l.pieces[n-1], e)
}

// Events are the kept events in order. The slice is the log's own: read only.
func (l *Log) Events() []Event {
	if len(l.pieces) > 0 {
		l.full = slices.Concat(append([][]Event{l.full}, l.pieces...)...)
		l.pieces = nil
	}
	return l.full
}

// All goes through the kept events in order, without joining them.
func (l *Log) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, piece := range append([][]Event{l.full}, l.pieces...) {
			for i := range piece {
				if !yield(piece[i]) {
					return
				}
			}
		}
	}
}

// DepthOf is the depth at which a detail is kept.
func DepthOf(d Detail) Depth {
	switch d.(type) {
	case Delivered, Enqueued, Requeued, SyncBegan, SyncEnded, Wrote, StatusChanged:
		return Syncs
	case Created, Deleted, Removed, Scheduled, PodChanged, Exited, Adopted, Released:
		return Pods
	}
	return Decisions
}
