package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// step is the sizes of all ReplicaSets by name after one was changed.
type step struct {
	at    time.Duration
	sizes map[string]int32
}

// rolled is what becomes of a change, predicted or real.
type rolled struct {
	sets    []string // ReplicaSets in the order in which they came
	steps   []step
	verdict string
	took    time.Duration
	apps    map[string]pods // by Deployment
}

// pods are the most at once, terminating ones apart, and the fewest available.
type pods struct{ peak, least int32 }

// sizes builds steps out of changes.
type sizes struct {
	order []string
	now   map[string]int32
	steps []step
}

func (s *sizes) found(set string, size int32) {
	if s.now == nil {
		s.now = map[string]int32{}
	}
	if _, ok := s.now[set]; !ok {
		s.order = append(s.order, set)
	}
	s.now[set] = size
}

func (s *sizes) scaled(at time.Duration, set string, size int32) {
	s.found(set, size)
	s.steps = append(s.steps, step{at, maps.Clone(s.now)})
}

// calm ends a wave: nothing was scaled for so long.
const calm = 500 * time.Millisecond

// waveEnds are the last steps before a calm.
func (r rolled) waveEnds() (out []step) {
	for i, s := range r.steps {
		if i+1 == len(r.steps) || r.steps[i+1].at-s.at > calm {
			out = append(out, s)
		}
	}
	return out
}

// shown is how many wave ends fit a line of the table.
const shown = 8

// line shows wave ends in the order of the ReplicaSets: [8 5] [3 10] [0 10].
func (r rolled) line() string {
	var words []string
	for _, s := range r.waveEnds() {
		var ns []string
		for _, set := range r.sets {
			if n, ok := s.sizes[set]; ok {
				ns = append(ns, fmt.Sprint(n))
			}
		}
		words = append(words, "["+strings.Join(ns, " ")+"]")
	}
	if len(words) > shown {
		rest := len(words) - shown + 1
		words = slices.Concat(words[:4], []string{fmt.Sprintf("… %d more …", rest)}, words[4+rest:])
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

func (r rolled) pods() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r.apps)) {
		words = append(words, fmt.Sprintf("%d/%d", r.apps[name].peak, r.apps[name].least))
	}
	return strings.Join(words, ", ")
}

// errors are in what the prediction is off, in words; none when it is right.
func (r rolled) errors(real rolled) (out []string) {
	if !sameSizes(r.waveEnds(), real.waveEnds()) {
		out = append(out, "sizes")
	}
	if !near(r.took, real.took) {
		out = append(out, "duration")
	}
	if !maps.Equal(r.apps, real.apps) {
		out = append(out, "pods")
	}
	if r.verdict != real.verdict {
		out = append(out, "verdict")
	}
	return out
}

func sameSizes(a, b []step) bool {
	return slices.EqualFunc(a, b, func(a, b step) bool { return maps.Equal(a.sizes, b.sizes) })
}

// near allows a duration a tenth or a second.
func near(predicted, real time.Duration) bool {
	return (predicted - real).Abs() <= max(time.Second, real/10)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
