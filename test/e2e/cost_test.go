package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// costly is the scenario whose cost is compared.
const costly = "25% and 25% of 500"

// cost is what a rollout took.
type cost struct {
	took time.Duration // from the change to its end
	busy time.Duration // of all processors
}

// charge adds up what the control plane's programs do until the function that it
// returns is called. Nothing else may be played meanwhile.
func (s *stage) charge(t *testing.T) func() time.Duration {
	t.Helper()
	busy := func() time.Duration {
		d, err := s.cluster.Busy()
		if err != nil {
			t.Log(err) // no /proc: nothing is compared
		}
		return d
	}
	before := busy()
	return func() time.Duration { return busy() - before }
}

// simulated is the least that a rollout of as many replicas takes in our engine,
// everything traced, without the start of a process and the reading of a cluster.
func simulated(t *testing.T) cost {
	t.Helper()
	bench := exec.CommandContext(t.Context(), "go", "test", "./pkg/scenario", "-run", "^$", "-bench", "^BenchmarkRollout$/^500$", "-benchtime", "20x", "-count", "5")
	bench.Dir = "../.."
	out, err := bench.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	least := func(pattern string, unit time.Duration) (best time.Duration) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(out), -1) {
			n, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Duration(n * float64(unit)); best == 0 || d < best {
				best = d
			}
		}
		if best == 0 {
			t.Fatalf("no %s in\n%s", pattern, out)
		}
		return best
	}
	return cost{least(`([0-9.]+) ns/op`, time.Nanosecond), least(`([0-9.e-]+) cpu-s\s`, time.Second)}
}

// The least by which a simulated rollout is cheaper than the real one. The
// figures are in docs/performance.md; these leave room for a machine that does
// something else beside.
const (
	timesFaster = 300
	timesLess   = 200
)

// compareCosts holds our engine against a real rollout of 500 replicas, which
// was played alone.
func compareCosts(t *testing.T, played row) {
	t.Helper()
	real := cost{played.real.took, played.busy}
	if real.busy == 0 {
		t.Log("no processor time was read")
		return
	}
	ours := simulated(t)
	faster, less := real.took.Seconds()/ours.took.Seconds(), real.busy.Seconds()/ours.busy.Seconds()
	text := fmt.Sprintf("A real rollout of 500 replicas took %.1f s, in which the control plane's programs used %.1f s of processor time.\n"+
		"Simulated it took %.1f ms, and %.1f ms of processor time: %.0f times faster, with 1/%.0f of the work.",
		real.took.Seconds(), real.busy.Seconds(), ours.took.Seconds()*1e3, ours.busy.Seconds()*1e3, faster, less)
	t.Log(text)
	if faster < timesFaster || less < timesLess {
		t.Errorf("want at least %d times faster and 1/%d of the work", timesFaster, timesLess)
	}
	if *rewrite {
		writeSection(t, "performance.md", "Real and simulated", text)
	}
}
