package trace

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whichever numbers a run's events have, each is found by its own: where all
// are kept, where some are not, and where they do not rise.
func TestEventsByNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(1, 40), 0, 30, rapid.ID).Draw(t, "numbers")
		if rapid.Bool().Draw(t, "rising") {
			slices.Sort(numbers)
		}
		events := make([]Event, len(numbers))
		for i, n := range numbers {
			events[i].Seq = Seq(n)
		}
		x := NewIndex(events)
		for seq := Seq(-1); seq < 42; seq++ {
			at, found := x.At(seq)
			e, ok := x.Event(seq)
			if want := slices.Index(numbers, int(seq)); found != (want >= 0) || ok != found || found && (at != want || e.Seq != seq) {
				t.Fatalf("%d of %v: %d %v, event %d %v", seq, numbers, at, found, e.Seq, ok)
			}
		}
	})
}

// A log keeps all events in order, whenever it is asked for them.
func TestLogKeepsAll(t *testing.T) {
	log := NewLog()
	for n := range 3*mostPiece + 7 {
		if n == 10 || n == mostPiece+1 || n == 2*mostPiece {
			if got := len(log.Events()); got != n {
				t.Fatalf("%d events, want %d", got, n)
			}
		}
		log.Append(Event{Detail: Enqueued{}})
	}
	for i, e := range log.Events() {
		if e.Seq != Seq(i+1) {
			t.Fatalf("event %d has number %d", i, e.Seq)
		}
	}
	if got := len(log.Events()); got != 3*mostPiece+7 {
		t.Errorf("%d events", got)
	}
}

// All is what Events is, whatever was joined before, and ends where it is told to.
func TestLogAll(t *testing.T) {
	log := NewLog()
	for range 3 {
		for range mostPiece + 3 {
			log.Append(Event{Detail: Enqueued{}})
		}
		got := slices.Collect(log.All())
		if !slices.Equal(got, log.Events()) {
			t.Fatalf("%d events one by one, %d joined", len(got), len(log.Events()))
		}
	}
	for e := range log.All() {
		if e.Seq == 5 {
			break
		}
		if e.Seq > 5 {
			t.Fatalf("went on to %d", e.Seq)
		}
	}
}
