package trace

// Index finds events by number and walks their causes.
type Index struct {
	events []Event
	at     map[Seq]int
	after  map[Seq][]int // by cause
}

// NewIndex indexes the events of one run. It keeps the slice: read only.
func NewIndex(events []Event) *Index {
	x := &Index{events: events, at: make(map[Seq]int, len(events)), after: map[Seq][]int{}}
	for i, e := range events {
		x.at[e.Seq] = i
		if e.Cause != 0 {
			x.after[e.Cause] = append(x.after[e.Cause], i)
		}
	}
	return x
}

// Event returns the event of a number; false when it was not kept.
func (x *Index) Event(seq Seq) (Event, bool) {
	i, ok := x.at[seq]
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
	var effects []Event
	for _, i := range x.after[seq] {
		effects = append(effects, x.events[i])
	}
	return effects
}
