package sweep_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sweep"
)

func strategy(verdict v1alpha1.Verdict, seconds float64, least, peak int32) v1alpha1.StrategyResult {
	return v1alpha1.StrategyResult{
		Verdict: verdict, DurationSeconds: seconds,
		Available: v1alpha1.Availability{Least: least, Desired: 10}, Pods: v1alpha1.PodTotals{Peak: peak},
		PeakRequests: v1alpha1.Requests{MilliCPU: int64(peak) * 250, MemoryBytes: int64(peak) << 27},
	}
}

// candidates: careful, quick, roomy, all at once, one that gets stuck, and one
// that careful beats.
var candidates = []v1alpha1.StrategyResult{
	strategy(v1alpha1.Complete, 60, 10, 11),
	strategy(v1alpha1.Complete, 20, 8, 13),
	strategy(v1alpha1.Complete, 10, 10, 20),
	strategy(v1alpha1.Complete, 15, 0, 10),
	strategy(v1alpha1.Stuck, 1, 10, 10),
	strategy(v1alpha1.Complete, 61, 10, 11),
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		goal string
		want int
	}{
		{"fastest", 2},
		{"leanest", 3},
		{"safest", 2},
		{"fastest with minAvailable>=100% and peakPods<=13", 0},
		{"fastest with minAvailable >= 80% and peakPods < 20", 1},
		{"fastest with minAvailable>80% and peakCPU<5", 0},
		{"fastest with peakMemory<=1664Mi", 3},
		{"safest with duration<1m", 2},
		{"leanest with minAvailable=8", 1},
		{"fastest with minAvailable>10", -1},
	} {
		t.Run(test.goal, func(t *testing.T) {
			goal, err := sweep.ParseGoal(test.goal)
			if err != nil {
				t.Fatal(err)
			}
			if got := goal.Choose(candidates); got != test.want {
				t.Errorf("chose %d, want %d", got, test.want)
			}
		})
	}
}

func TestParseGoalRefuses(t *testing.T) {
	for goal, want := range map[string]string{
		"":                               "the goal is empty",
		"best":                           "not one of fastest",
		"fastest peakPods<=3":            "'with'",
		"fastest with":                   "'with'",
		"fastest with peakPods":          "not a bound",
		"fastest with peakPods<=x":       "not a number of pods",
		"fastest with speed>3":           "not one of minAvailable",
		"fastest with minAvailable>=x%":  "not a number of pods or a percentage",
		"fastest with peakCPU<=-1":       "not an amount",
		"fastest with duration<=1":       "not a duration",
		"fastest with peakPods<=3 and":   "not a bound",
		"fastest with and peakPods<=3":   "not a bound",
		"fastest with peakPods<=3 or ok": "not a number of pods",
	} {
		if _, err := sweep.ParseGoal(goal); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", goal, err, want)
		}
	}
}

func TestMarkPareto(t *testing.T) {
	all := slices.Clone(candidates)
	sweep.MarkPareto(all)
	for i, want := range []bool{true, true, true, true, false, false} {
		if all[i].Pareto != want {
			t.Errorf("strategy %d: Pareto %v, want %v", i, all[i].Pareto, want)
		}
	}
}
