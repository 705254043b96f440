// Package merge is the command that joins the parts of a sweep.
package merge

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sweep"
)

const long = `Join the parts of a sweep that was split with plan --runs N --shard I/N.

Each FILE is what -o json or yaml of one part printed. All parts of one sweep
are needed, in any order; the result is that of the sweep in one, byte for byte.`

const example = `  # Two halves of a sweep, perhaps on two machines
  kubectl rollout-sim plan --state dump.yaml deploy/web --restart \
    --runs 1000 --shard 0/2 -o json > 0.json
  kubectl rollout-sim plan --state dump.yaml deploy/web --restart \
    --runs 1000 --shard 1/2 -o json > 1.json
  kubectl rollout-sim merge 0.json 1.json`

// Options are what is joined, and how it is shown.
type Options struct {
	genericiooptions.IOStreams
	predict.Output

	Files []string
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{IOStreams: streams, Output: predict.Output{Detail: command.Details[0]}}
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "merge FILE…", Short: "Join the parts of a sweep", Long: long, Example: example}
	cmd := command.New(text, func(_ *cobra.Command, args []string) error {
		o.Files = args
		return nil
	}, func(ctx context.Context) error { return runF(ctx, o) })
	cmd.Args = cobra.MinimumNArgs(1)
	o.AddSummaryFlags(cmd.Flags())
	command.Words(cmd, map[string][]string{"output": predict.SummaryFormats, "color": command.Colors})
	return cmd
}

// Run reads, joins and shows.
func Run(_ context.Context, o *Options) error {
	show, err := o.SweepPrinter(o.Out)
	if err != nil {
		return err
	}
	parts := make([]*v1alpha1.RolloutSweep, len(o.Files))
	for i, name := range o.Files {
		if parts[i], err = read(name); err != nil {
			return err
		}
	}
	whole, err := sweep.Merge(parts)
	if err != nil {
		return err
	}
	return show(o.Out, whole)
}

// maxFile is the largest part that is read, in bytes: a million runs of one workload.
const maxFile = 1 << 30

func read(name string) (*v1alpha1.RolloutSweep, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", manifest.Printable(name), err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s has more than %d MiB", manifest.Printable(name), maxFile>>20)
	}
	part, err := v1alpha1.DecodeSweep(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.Printable(name), err)
	}
	return part, nil
}
