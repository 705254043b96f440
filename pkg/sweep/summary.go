package sweep

import (
	"cmp"
	"slices"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// Summarize fills a sweep's status from its runs. Without runs it stays empty.
func Summarize(s *v1alpha1.RolloutSweep) {
	s.Status = v1alpha1.RolloutSweepStatus{Verdicts: []v1alpha1.VerdictShare{}, Workloads: []v1alpha1.SweepWorkload{}}
	if len(s.Runs) == 0 {
		return
	}
	all := make([]outcome, len(s.Runs))
	for i, run := range s.Runs {
		all[i] = together(run)
	}
	worst := slices.MinFunc(all, worse)
	s.Status.Verdict, s.Status.Worst = worst.Verdict, worst.named()
	s.Status.Verdicts = shares(all)
	s.Status.DurationSeconds = spreadOf(all, duration)
	for i, object := range s.Spec.Workloads {
		for j, run := range s.Runs {
			all[j] = outcome{run.Workloads[i], run.Seed}
		}
		worst := slices.MinFunc(all, worse)
		s.Status.Workloads = append(s.Status.Workloads, v1alpha1.SweepWorkload{
			Object: object, Verdict: worst.Verdict, Verdicts: shares(all),
			DurationSeconds:     spreadOf(all, duration),
			LeastAvailable:      spreadOf(all, func(o outcome) float64 { return float64(o.LeastAvailable) }),
			Peak:                spreadOf(all, func(o outcome) float64 { return float64(o.Peak) }),
			PeakWithTerminating: spreadOf(all, func(o outcome) float64 { return float64(o.PeakWithTerminating) }),
			Needed:              worst.Needed, Desired: worst.Desired, Worst: worst.named(),
		})
	}
}

// outcome is a result with the seed that leads to it.
type outcome struct {
	v1alpha1.RunResult
	seed uint64
}

func (o outcome) named() v1alpha1.WorstRun {
	return v1alpha1.WorstRun{Seed: o.seed, Verdict: o.Verdict, DurationSeconds: o.DurationSeconds}
}

func duration(o outcome) float64 { return o.DurationSeconds }

// together is a run as a whole: the worst verdict, the longest duration, and
// the availability of the workload that had the smallest part of its pods.
func together(run v1alpha1.SweepRun) outcome {
	out := outcome{v1alpha1.RunResult{Verdict: v1alpha1.NothingToDo}, run.Seed}
	for i, w := range run.Workloads {
		if w.Verdict.WorseThan(out.Verdict) {
			out.Verdict = w.Verdict
		}
		out.DurationSeconds = max(out.DurationSeconds, w.DurationSeconds)
		if i == 0 || scarcer(w, out.RunResult) < 0 {
			out.LeastAvailable, out.Desired = w.LeastAvailable, w.Desired
		}
	}
	return out
}

// scarcer compares the part of the desired pods that stayed available. In whole
// numbers, so that equal parts are equal.
func scarcer(a, b v1alpha1.RunResult) int {
	return cmp.Compare(int64(a.LeastAvailable)*int64(max(b.Desired, 1)), int64(b.LeastAvailable)*int64(max(a.Desired, 1)))
}

// worse puts the run first that one should look at.
func worse(a, b outcome) int {
	switch {
	case a.Verdict.WorseThan(b.Verdict):
		return -1
	case b.Verdict.WorseThan(a.Verdict):
		return 1
	}
	return cmp.Or(scarcer(a.RunResult, b.RunResult), cmp.Compare(b.DurationSeconds, a.DurationSeconds), cmp.Compare(a.seed, b.seed))
}

// shares counts verdicts, the worst first.
func shares(all []outcome) []v1alpha1.VerdictShare {
	runs := map[v1alpha1.Verdict]int{}
	for _, o := range all {
		runs[o.Verdict]++
	}
	out := make([]v1alpha1.VerdictShare, 0, len(runs))
	for verdict, n := range runs {
		out = append(out, v1alpha1.VerdictShare{Verdict: verdict, Runs: n, Share: float64(n) / float64(len(all))})
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.VerdictShare) int {
		switch {
		case a.Verdict.WorseThan(b.Verdict):
			return -1
		case b.Verdict.WorseThan(a.Verdict):
			return 1
		}
		return cmp.Compare(a.Verdict, b.Verdict)
	})
	return out
}

// spreadOf is the spread of a number over outcomes, of which there is at least one.
func spreadOf(all []outcome, of func(outcome) float64) v1alpha1.Spread {
	values := make([]float64, len(all))
	for i, o := range all {
		values[i] = of(o)
	}
	slices.Sort(values)
	at := func(percent int) float64 { return values[rank(percent, len(values))-1] }
	return v1alpha1.Spread{Min: values[0], P5: at(5), P50: at(50), P95: at(95), P99: at(99), Max: values[len(values)-1]}
}

// rank is the nearest rank of a percentile among n sorted values, from 1 on.
func rank(percent, n int) int { return max((percent*n+99)/100, 1) }
