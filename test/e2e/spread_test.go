package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var rerecord = flag.Bool("record", false, "play each large scenario anew and keep what was real")

// spread is several real runs of one change, for one so large that the limit on
// the controllers' calls sets its pace. How many pods a ReplicaSet's controller
// makes before it deletes, or counts before it tells, hangs on which of two
// calls is a millisecond earlier, and all later sizes on that. Few real runs
// are alike, so that a prediction has to lie where the real ones do.
type spread struct {
	replicas  int32
	runs      []rolled
	otherwise []rolled // predictions with other seeds
}

// keptRuns is how many real runs of a large scenario are kept.
const keptRuns = 5

// closeness is how far from a real run sizes may always be, in parts of the
// replicas, and times, in parts of the duration.
const closeness = 0.05

// errors are in what a prediction is none of these runs; the last one is that of today.
func (s spread) errors(predicted rolled) (out []string) {
	today := s.runs[len(s.runs)-1]
	if !s.shows(predicted) && (!s.begins(predicted) || !s.allows(predicted) || s.off(predicted) > s.allowance()) {
		out = append(out, "sizes")
	}
	if !slices.ContainsFunc(s.runs, func(r rolled) bool { return near(predicted.took, r.took) }) {
		out = append(out, "duration")
	}
	if predicted.only().peak != today.only().peak || !s.reaches(predicted) {
		out = append(out, "pods")
	}
	if predicted.verdict != today.verdict {
		out = append(out, "verdict")
	}
	return out
}

// strictly are the errors by the rule that the small scenarios are held to: the
// order is one that the real cluster shows, duration, most pods and fewest
// available are those of a real run.
func (s spread) strictly(predicted rolled) (out []string) {
	if !s.shows(predicted) {
		out = append(out, "sizes")
	}
	if !slices.ContainsFunc(s.runs, func(r rolled) bool { return near(predicted.took, r.took) }) {
		out = append(out, "duration")
	}
	if !slices.ContainsFunc(s.runs, func(r rolled) bool { return predicted.only() == r.only() }) {
		out = append(out, "pods")
	}
	return out
}

// shows: the prediction is one of the orders of the real cluster, wave by wave.
func (s spread) shows(predicted rolled) bool {
	return slices.ContainsFunc(s.runs, func(r rolled) bool { return sameSizes(r.waveEnds(), predicted.waveEnds()) })
}

// begins: the steps before the first pod is ready follow from the strategy alone.
func (s spread) begins(predicted rolled) bool {
	return slices.ContainsFunc(s.runs, func(r rolled) bool { return sameSizes(r.firstWave(), predicted.firstWave()) })
}

// allows holds each step against the budget: no more pods wanted than at the
// peak, and one ReplicaSet changed at a time.
func (s spread) allows(predicted rolled) bool {
	before := map[string]int32{}
	for i, now := range predicted.steps {
		changed, sum := 0, int32(0)
		for set, n := range now.sizes {
			sum += n
			if before[set] != n {
				changed++
			}
		}
		if sum > predicted.only().peak || i > 0 && changed > 1 {
			return false
		}
		before = now.sizes
	}
	return true
}

// off is by how many pods a rollout misses the real run that it is most like.
func (s spread) off(r rolled) float64 {
	best := math.Inf(1)
	for _, real := range s.runs {
		best = min(best, max(distance(r, real), distance(real, r)))
	}
	return best
}

// ownOff is by how many pods a real run misses the one of the others that it is most like, at worst.
func (s spread) ownOff() (worst float64) {
	for i, run := range s.runs {
		others := spread{replicas: s.replicas, runs: slices.Delete(slices.Clone(s.runs), i, i+1)}
		worst = max(worst, others.off(run))
	}
	return worst
}

// allowance is how far a prediction may be from the nearest real run: 5% of the
// replicas, or as far as a real run is from the nearest of the others.
func (s spread) allowance() float64 { return max(closeness*float64(s.replicas), s.ownOff()) }

// orders is how many different sequences of wave ends the runs show.
func (s spread) orders() int {
	seen := map[string]bool{}
	for _, r := range s.runs {
		order := ""
		for _, end := range r.waveEnds() {
			order += fmt.Sprint(end.sizes)
		}
		seen[order] = true
	}
	return len(seen)
}

// likeness tells how the prediction compares with the runs, and these with each other.
func (s spread) likeness(predicted rolled) string {
	own := fmt.Sprintf("%d real runs show %d orders, at most %.0f pods apart", len(s.runs), s.orders(), s.ownOff())
	if s.shows(predicted) {
		return "one of the real orders; " + own
	}
	return fmt.Sprintf("%.0f pods from a real run; %s", s.off(predicted), own)
}

// reaches: the fewest available, which hang on that first millisecond most of
// all, are with one seed or another what they are in one real run or another.
func (s spread) reaches(predicted rolled) bool {
	low, high := least(s.runs)
	first, last := least(append(slices.Clone(s.otherwise), predicted))
	return first <= high && last >= low
}

// least is the range of the fewest available.
func least(runs []rolled) (low, high int32) {
	low = math.MaxInt32
	for _, r := range runs {
		low, high = min(low, r.only().least), max(high, r.only().least)
	}
	return low, high
}

func (s spread) took() (shortest, longest time.Duration) {
	shortest = math.MaxInt64
	for _, r := range s.runs {
		shortest, longest = min(shortest, r.took), max(longest, r.took)
	}
	return shortest, longest
}

// distance is by how many pods one rollout's wave ends miss the other's path, at worst.
func distance(from, to rolled) (worst float64) {
	slack := time.Duration(closeness * float64(max(from.took, to.took)))
	for _, end := range from.waveEnds() {
		best := math.Inf(1)
		for i, s := range to.steps {
			if lasts := i+1 == len(to.steps) || to.steps[i+1].at > end.at-slack; lasts && s.at <= end.at+slack {
				best = min(best, gap(end.sizes, s.sizes))
			}
		}
		worst = max(worst, best)
	}
	return worst
}

// gap is the largest difference of any ReplicaSet's sizes.
func gap(a, b map[string]int32) (worst float64) {
	for set := range maps.Keys(a) {
		worst = max(worst, math.Abs(float64(a[set]-b[set])))
	}
	for set := range maps.Keys(b) {
		worst = max(worst, math.Abs(float64(a[set]-b[set])))
	}
	return worst
}

// only is the pods of the one Deployment.
func (r rolled) only() pods {
	for _, p := range r.apps {
		return p
	}
	return pods{}
}

// firstWave is the steps up to the first calm.
func (r rolled) firstWave() []step {
	for i := range r.steps {
		if i+1 == len(r.steps) || r.steps[i+1].at-r.steps[i].at > calm {
			return r.steps[:i+1]
		}
	}
	return nil
}

// kept is a run as it is kept in a file: times in milliseconds, sizes in the
// order in which the ReplicaSets came.
type kept struct {
	Sets    []string  `json:"sets"`
	Steps   [][]int32 `json:"steps"` // time, then the sizes
	Took    int64     `json:"took"`
	Peak    int32     `json:"peak"`
	Least   int32     `json:"least"`
	Verdict string    `json:"verdict"`
}

func keptFile(scenario string) string {
	return filepath.Join("testdata", strings.ReplaceAll(strings.ReplaceAll(scenario, " ", "-"), "%", "")+".json")
}

func (r rolled) keep() kept {
	k := kept{Sets: r.sets, Took: r.took.Milliseconds(), Peak: r.only().peak, Least: r.only().least, Verdict: r.verdict}
	for _, s := range r.steps {
		line := []int32{int32(s.at.Milliseconds())}
		for _, set := range r.sets {
			line = append(line, s.sizes[set])
		}
		k.Steps = append(k.Steps, line)
	}
	return k
}

func (k kept) rolled() rolled {
	r := rolled{sets: k.Sets, verdict: k.Verdict, took: time.Duration(k.Took) * time.Millisecond, apps: map[string]pods{"web": {k.Peak, k.Least}}}
	for _, line := range k.Steps {
		s := step{time.Duration(line[0]) * time.Millisecond, map[string]int32{}}
		for i, set := range k.Sets {
			s.sizes[set] = line[i+1]
		}
		r.steps = append(r.steps, s)
	}
	return r
}

func readKept(t *testing.T, scenario string) (runs []rolled) {
	t.Helper()
	data, err := os.ReadFile(keptFile(scenario))
	if err != nil {
		t.Fatalf("%v; -args -record makes it", err)
	}
	var all []kept
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatalf("%s: %v", keptFile(scenario), err)
	}
	for _, k := range all {
		runs = append(runs, k.rolled())
	}
	return runs
}

func writeKept(t *testing.T, scenario string, runs []rolled) {
	t.Helper()
	var lines []string
	for _, r := range runs {
		line, err := json.Marshal(r.keep())
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	text := fmt.Sprintf("[\n%s\n]\n", strings.Join(lines, ",\n"))
	if err := os.WriteFile(keptFile(scenario), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
