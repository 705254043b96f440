package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
)

// Many is a sweep: the change played with many seeds.
type Many struct {
	Runs  int             // 0 for a single plan
	Shard *v1alpha1.Shard // the part to play; nil for all

	shard string
}

func (m *Many) addFlags(flags *pflag.FlagSet) {
	command.Group(flags, "Many runs", func(flags *pflag.FlagSet) {
		flags.IntVar(&m.Runs, "runs", 0, "Play the change `N` times, with seeds from --seed on, and show how the results are spread")
		flags.StringVar(&m.shard, "shard", "", "With --runs, play only part `I/N`, I from 0 on, or N alone in a pod of an Indexed Job; merge joins the parts")
	})
}

// complete reads the flags and refuses what a sweep cannot be asked.
func (m *Many) complete(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if !flags.Changed("runs") {
		if m.shard != "" {
			return errors.New("--shard is a part of the runs of --runs")
		}
		return nil
	}
	for _, other := range []string{"save", "apply", "detail", "max-pod-lines", "report", "trace-out"} {
		if flag := flags.Lookup(other); flag != nil && flag.Changed {
			return fmt.Errorf("--%s shows or makes one rollout: it cannot be used together with --runs", other)
		}
	}
	var err error
	if m.Shard, err = predict.ParseShard(m.shard); err != nil {
		return err
	}
	return predict.CheckRuns(m.Runs, m.Shard)
}

// runMany plays the sweep and prints it.
func runMany(ctx context.Context, o *Options) error {
	show, err := o.SweepPrinter(o.Out)
	if err != nil {
		return err
	}
	defer predict.CollectRarely()()
	result, warnings, err := predict.Sweep(ctx, &o.Options, o.Runs, o.Shard)
	if err != nil {
		return err
	}
	predict.Warn(o.ErrOut, warnings)
	if err := show(o.Out, result); err != nil {
		return fmt.Errorf("printing the sweep: %w", err)
	}
	if err := predict.CheckFailOnRuns(o.FailOn, result); err != nil {
		return err
	}
	if o.DetailedExitCode && result.Status.Verdict != v1alpha1.NothingToDo {
		return &exit.Error{Code: exit.Changes}
	}
	return nil
}
