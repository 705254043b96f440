package predict

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sweep"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// maxRuns is the most runs of a sweep: its results are kept, some hundred bytes each.
const maxRuns = 1_000_000

// indexVariable is where a pod of an Indexed Job finds its number.
const indexVariable = "JOB_COMPLETION_INDEX"

// ParseShard reads I/N, or N alone with the index that an Indexed Job gives.
func ParseShard(text string) (*v1alpha1.Shard, error) {
	if text == "" {
		return nil, nil
	}
	index, count, both := strings.Cut(text, "/")
	if !both {
		count, index = text, os.Getenv(indexVariable)
		if index == "" {
			return nil, fmt.Errorf("--shard %s: the index is missing: pass I/N, or set %s as an Indexed Job does", text, indexVariable)
		}
	}
	var shard v1alpha1.Shard
	var err error
	if shard.Index, err = strconv.Atoi(index); err == nil {
		shard.Count, err = strconv.Atoi(count)
	}
	if err != nil {
		return nil, fmt.Errorf("--shard %q: expected I/N, as in 0/8", text)
	}
	if err := sweep.CheckShard(shard); err != nil {
		return nil, fmt.Errorf("--shard: %w", err)
	}
	return &shard, nil
}

// CheckRuns refuses numbers of runs that cannot be, or not be split so.
func CheckRuns(runs int, shard *v1alpha1.Shard) error {
	switch {
	case runs < 1 || runs > maxRuns:
		return fmt.Errorf("--runs %d: expected 1 to %d", runs, maxRuns)
	case shard != nil && shard.Count > runs:
		return fmt.Errorf("--shard %d/%d: there are more shards than the %s of the sweep", shard.Index, shard.Count, plural(runs, "run"))
	}
	return nil
}

// Sweep plays the change many times, or a shard's part of that, on all
// processors. The number of processors does not show in the result.
func Sweep(ctx context.Context, o *Options, runs int, shard *v1alpha1.Shard) (*v1alpha1.RolloutSweep, []string, error) {
	stage, err := ReadStage(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	spec := v1alpha1.RolloutSweepSpec{RolloutPlanSpec: stage.Spec(), Runs: runs, Shard: shard}
	if spec.InputHash, err = stage.Digest(); err != nil {
		return nil, nil, err
	}
	out := v1alpha1.NewRolloutSweep(spec)
	from, to := sweep.Range(runs, shard)
	out.Runs = make([]v1alpha1.SweepRun, to-from)
	warnings := make([][]string, to-from)
	bar := command.StartBar(o.ErrOut, "runs", to-from)
	err = sweep.Each(ctx, to-from, func(ctx context.Context, i int) error {
		seed := o.Seed + uint64(from+i)
		p, err := stage.Play(ctx, Variant{Seed: seed})
		if err != nil {
			return fmt.Errorf("the run with seed %d: %w", seed, err)
		}
		out.Runs[i] = v1alpha1.SweepRun{Seed: seed, Workloads: results(p)}
		warnings[i] = p.Warnings
		if i == 0 {
			out.Spec.World = p.Facts
		}
		return nil
	}, bar.Tell)
	bar.End()
	if err != nil {
		return nil, nil, err
	}
	sweep.Summarize(out)
	all := stage.Warnings()
	for _, list := range warnings {
		all = append(all, list...)
	}
	return out, all, nil
}

// results are those of the workloads that are asked about.
func results(p *Played) []v1alpha1.RunResult {
	out := make([]v1alpha1.RunResult, len(p.Specs))
	for i := range out {
		out[i] = v1alpha1.ResultOf(p.Status.Workloads[i])
	}
	return out
}

// CheckFailOnRuns is an *exit.Error that names every condition that some run
// meets, with how many do and the seed of the first; nil when none is met.
func CheckFailOnRuns(conditions []Condition, s *v1alpha1.RolloutSweep) error {
	var met []string
	for _, c := range conditions {
		for i, object := range s.Spec.Workloads {
			if text := c.metInRuns(s, i, object); text != "" {
				met = append(met, text)
			}
		}
	}
	if len(met) == 0 {
		return nil
	}
	return &exit.Error{Code: exit.Condition, Message: "--fail-on " + strings.Join(met, "; ")}
}

func (c Condition) metInRuns(s *v1alpha1.RolloutSweep, workload int, object trace.Ref) string {
	times, text := 0, ""
	for _, run := range s.Runs {
		if ok, how := c.met(statusOf(run.Workloads[workload])); ok {
			if times++; times == 1 {
				text = fmt.Sprintf("first with seed %d: %s", run.Seed, how)
			}
		}
	}
	if times == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s: %d of %s, %s", c.Text, refName(object), times, plural(len(s.Runs), "run"), text)
}

// statusOf is what a condition can be about of a result.
func statusOf(r v1alpha1.RunResult) v1alpha1.WorkloadStatus {
	return v1alpha1.WorkloadStatus{
		Verdict: r.Verdict, DurationSeconds: r.DurationSeconds,
		Pods:      v1alpha1.PodTotals{Peak: r.Peak, PeakWithTerminating: r.PeakWithTerminating},
		Available: v1alpha1.Availability{Least: r.LeastAvailable, Needed: r.Needed, Desired: r.Desired},
	}
}

// SweepPrinter shows a sweep in the format asked for, as wide as out is. An
// unknown format, width or colour is an error.
func (o Output) SweepPrinter(out io.Writer) (func(io.Writer, *v1alpha1.RolloutSweep) error, error) {
	options, err := o.ViewOptions(out)
	if err != nil {
		return nil, err
	}
	return Other(o.Format, func(w io.Writer, s *v1alpha1.RolloutSweep) error { return view.Sweep(w, s, options) })
}
