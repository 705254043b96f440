package worlds

import (
	"fmt"
	"syscall"
	"time"
)

// speed adds up the processor time of passes over one state: ours, and then
// upstream's. A pass that writes has the simulated server's work in it on our
// side, and the encoding of requests and answers on upstream's; one that writes
// nothing is the controllers alone.
type speed struct{ of map[kindOfPass]*times }

type kindOfPass struct {
	actor  string
	writes bool
}

// times are sums over passes.
type times struct {
	passes         int
	ours, upstream time.Duration
}

func newSpeed() *speed { return &speed{of: map[kindOfPass]*times{}} }

// used is the processor time of the whole process so far. It is real also where
// time is not.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// now is used, where anybody wants to know.
func (s *speed) now() time.Duration {
	if s == nil {
		return 0
	}
	return used()
}

// note takes in one pass, from the moments at which ours began, upstream's
// began and that ended.
func (s *speed) note(actor string, writes bool, began, between, ended time.Duration) {
	if s == nil {
		return
	}
	k := kindOfPass{actor, writes}
	t := s.of[k]
	if t == nil {
		t = &times{}
		s.of[k] = t
	}
	t.passes++
	t.ours += between - began
	t.upstream += ended - between
}

// lines are the means, for people.
func (s *speed) lines(actors ...string) (out []string) {
	for _, actor := range actors {
		for _, writes := range []bool{false, true} {
			t := s.of[kindOfPass{actor, writes}]
			if t == nil {
				continue
			}
			what := "without writes"
			if writes {
				what = "with writes"
			}
			mean := func(d time.Duration) time.Duration { return (d / time.Duration(t.passes)).Round(time.Microsecond) }
			out = append(out, fmt.Sprintf("%s, %d passes %s: ours %v, upstream's %v a pass", actor, t.passes, what, mean(t.ours), mean(t.upstream)))
		}
	}
	return out
}
