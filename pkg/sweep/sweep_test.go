package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sweep"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var web = trace.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}

// TestEach has every number done once, whatever fails.
func TestEach(t *testing.T) {
	done := make([]int, 100)
	if err := sweep.Each(context.Background(), len(done), func(_ context.Context, i int) error { done[i]++; return nil }, nil); err != nil {
		t.Fatal(err)
	}
	for i, n := range done {
		if n != 1 {
			t.Errorf("%d was done %d times", i, n)
		}
	}
	broken := errors.New("broken")
	err := sweep.Each(context.Background(), 50, func(_ context.Context, i int) error {
		if i == 7 {
			return broken
		}
		return nil
	}, nil)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := sweep.Each(ctx, 3, func(context.Context, int) error { return nil }, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled sweep ended with %v", err)
	}
}

// sweepOf has runs with these durations, from a seed on.
func sweepOf(seed uint64, durations ...float64) *v1alpha1.RolloutSweep {
	s := v1alpha1.NewRolloutSweep(v1alpha1.RolloutSweepSpec{
		RolloutPlanSpec: v1alpha1.RolloutPlanSpec{Seed: seed, Workloads: []trace.Ref{web}}, Runs: len(durations),
	})
	for i, d := range durations {
		s.Runs = append(s.Runs, v1alpha1.SweepRun{Seed: seed + uint64(i), Workloads: []v1alpha1.RunResult{
			{Verdict: v1alpha1.Complete, DurationSeconds: d, LeastAvailable: 8, Needed: 8, Desired: 10, Peak: 13, PeakWithTerminating: 20},
		}})
	}
	return s
}

// TestPercentiles are those of the nearest rank, as textbooks give them: of
// 15, 20, 35, 40, 50 the 5th is 15, the 50th 35, the 95th 50.
func TestPercentiles(t *testing.T) {
	s := sweepOf(1, 40, 15, 50, 35, 20)
	sweep.Summarize(s)
	want := v1alpha1.Spread{Min: 15, P5: 15, P50: 35, P95: 50, P99: 50, Max: 50}
	if got := s.Status.Workloads[0].DurationSeconds; got != want {
		t.Errorf("spread %+v, want %+v", got, want)
	}
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	s = sweepOf(1, hundred...)
	sweep.Summarize(s)
	want = v1alpha1.Spread{Min: 1, P5: 5, P50: 50, P95: 95, P99: 99, Max: 100}
	if got := s.Status.DurationSeconds; got != want {
		t.Errorf("spread %+v, want %+v", got, want)
	}
}

// TestWorst puts the verdict before availability, and that before the duration.
func TestWorst(t *testing.T) {
	s := sweepOf(10, 5, 9, 7, 6)
	sweep.Summarize(s)
	if got := s.Status.Worst; got.Seed != 11 {
		t.Errorf("the longest is to be the worst, not %+v", got)
	}
	s.Runs[2].Workloads[0].LeastAvailable = 6
	sweep.Summarize(s)
	if got := s.Status.Worst; got.Seed != 12 {
		t.Errorf("the one with fewest available is to be the worst, not %+v", got)
	}
	s.Runs[3].Workloads[0].Verdict = v1alpha1.Stuck
	sweep.Summarize(s)
	if got := s.Status.Worst; got.Seed != 13 || s.Status.Verdict != v1alpha1.Stuck {
		t.Errorf("the one that is stuck is to be the worst, not %+v", got)
	}
	want := []v1alpha1.VerdictShare{{Verdict: v1alpha1.Stuck, Runs: 1, Share: 0.25}, {Verdict: v1alpha1.Complete, Runs: 3, Share: 0.75}}
	if !reflect.DeepEqual(s.Status.Verdicts, want) {
		t.Errorf("verdicts %+v, want %+v", s.Status.Verdicts, want)
	}
}

// shards cuts a sweep.
func shards(whole *v1alpha1.RolloutSweep, count int) []*v1alpha1.RolloutSweep {
	out := make([]*v1alpha1.RolloutSweep, count)
	for i := range out {
		part := *whole
		part.Spec.Shard = &v1alpha1.Shard{Index: i, Count: count}
		from, to := sweep.Range(whole.Spec.Runs, part.Spec.Shard)
		part.Runs = whole.Runs[from:to]
		sweep.Summarize(&part)
		out[i] = &part
	}
	return out
}

func TestMerge(t *testing.T) {
	whole := sweepOf(3, 7, 1, 9, 2, 8, 5, 4)
	sweep.Summarize(whole)
	for count := 1; count <= 7; count++ {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			parts := shards(whole, count)
			for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
				parts[i], parts[j] = parts[j], parts[i]
			}
			got, err := sweep.Merge(parts)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, whole) {
				t.Errorf("merged %+v\nwant %+v", got, whole)
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	whole := sweepOf(3, 7, 1, 9, 2)
	for _, test := range []struct {
		name, want string
		spoil      func(parts []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep
	}{
		{"nothing", "nothing to merge", func([]*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { return nil }},
		{"first missing", "shard 0/3 is missing", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { return p[1:] }},
		{"last missing", "shard 2/3 is missing", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { return p[:2] }},
		{"twice", "shard 1/3 is there twice", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { return append(p, p[1]) }},
		{"whole", "whole already", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { p[0].Spec.Shard = nil; return p }},
		{"other input", "spec.inputHash differs", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { p[1].Spec.InputHash = "x"; return p }},
		{"other count", "spec.shard differs", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep {
			other := shards(whole, 2)
			return []*v1alpha1.RolloutSweep{p[0], other[1]}
		}},
		{"runs missing", "should have", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { p[2].Runs = p[2].Runs[1:]; return p }},
		{"other seeds", "has seed", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep {
			p[2].Runs = []v1alpha1.SweepRun{p[2].Runs[1], p[2].Runs[0]}
			return p
		}},
		{"no such shard", "the index counts from 0", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep {
			p[0].Spec.Shard = &v1alpha1.Shard{Index: 3, Count: 3}
			return p
		}},
		{"no runs", "has no such part", func(p []*v1alpha1.RolloutSweep) []*v1alpha1.RolloutSweep { p[0].Spec.Runs = -4; return p }},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := sweep.Merge(test.spoil(shards(whole, 3)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
