package trace

import (
	"cmp"
	"slices"
	"sync"
)

// Index finds events by number and walks their causes.
type Index struct {
	events []Event
	// at has the places of events whose numbers do not rise; nil where they do,
	// as in every run.
	at map[Seq]int

	once  sync.Once
	after map[Seq][]int // by cause, made when first asked for
}

// NewIndex indexes the events of one run. It keeps the slice: read only.
func NewIndex(events []Event) *Index {
	x := &Index{events: events}
	if !rising(events) {
		x.at = make(map[Seq]int, len(events))
		for i, e := range events {
			x.at[e.Seq] = i
		}
	}
	return x
}

func rising(events []Event) bool {
	for i := range events[min(1, len(events)):] {
		if events[i+1].Seq <= events[i].Seq {
			return false
		}
	}
	return true
}

// At is the place of the event of a number; false when it was not kept.
func (x *Index) At(seq Seq) (int, bool) {
	if x.at != nil {
		i, ok := x.at[seq]
		return i, ok
	}
	if len(x.events) == 0 {
		return 0, false
	}
	// Where all are kept, a number says the place.
	if i := int(seq - x.events[0].Seq); i >= 0 && i < len(x.events) && x.events[i].Seq == seq {
		return i, true
	}
	return slices.BinarySearchFunc(x.events, seq, func(e Event, seq Seq) int { return cmp.Compare(e.Seq, seq) })
}

// Event returns the event of a number; false when it was not kept.
func (x *Index) Event(seq Seq) (Event, bool) {
	i, ok := x.At(seq)
	if !ok {
		return Event{}, false
	}
	return x.events[i], true
}

// Causes lists what led to an event, the nearest cause first and the first
// cause last. It ends early where a cause was not kept.
func (x *Index) Causes(seq Seq) []Event {
	var causes []Event
	e, ok := x.Event(seq)
	// A cause always has a lower number; anything else would be a loop.
	for ok && e.Cause != 0 && e.Cause < e.Seq {
		if e, ok = x.Event(e.Cause); ok {
			causes = append(causes, e)
		}
	}
	return causes
}

// Effects lists the events that have this one as their direct cause, in order.
func (x *Index) Effects(seq Seq) []Event {
	x.once.Do(func() {
		x.after = map[Seq][]int{}
		for i, e := range x.events {
			if e.Cause != 0 {
				x.after[e.Cause] = append(x.after[e.Cause], i)
			}
		}
	})
	var effects []Event
	for _, i := range x.after[seq] {
		effects = append(effects, x.events[i])
	}
	return effects
}
