package trace

import "slices"

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

	events []Event
	last   Seq
}

// NewLog keeps everything.
func NewLog() *Log { return &Log{Depth: Syncs} }

// Append numbers an event, keeps it if its depth is wanted and returns its number.
func (l *Log) Append(e Event) Seq {
	l.last++
	e.Seq = l.last
	if DepthOf(e.Detail) <= l.Depth {
		if len(l.events) == cap(l.events) {
			// Twice the room: append's own steps of a quarter copy the
			// events of a long run four times on average.
			l.events = slices.Grow(l.events, max(len(l.events), 64))
		}
		l.events = append(l.events, e)
		if l.Sink != nil {
			l.Sink(e)
		}
	}
	return e.Seq
}

// Events are the kept events in order. The slice is the log's own: read only.
func (l *Log) Events() []Event { return l.events }

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
