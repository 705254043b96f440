// Package replay is the command that shows a saved plan or recording again.
package replay

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
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

const long = `Show a plan or a recording again, in any format.

FILE is what plan --save or apply --record wrote, or what -o json, yaml or jsonl
of plan and apply printed; - is standard input. A recording of a real rollout
looks as it did while it went.`

const example = `  # Look again at a rollout that was recorded
  kubectl rollout-sim replay web.jsonl

  # Only its decisions; its result for a script
  kubectl rollout-sim replay web.jsonl --detail decisions
  kubectl rollout-sim replay web.jsonl -o jsonpath='{.status.verdict}'`

// Options are what is shown, and how.
type Options struct {
	genericiooptions.IOStreams
	predict.Output

	File string
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{IOStreams: streams}
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "replay FILE", Short: "Show a saved plan or recording again", Long: long, Example: example}
	cmd := command.New(text, func(_ *cobra.Command, args []string) error {
		o.File = args[0]
		return nil
	}, func(ctx context.Context) error { return runF(ctx, o) })
	cmd.Args = cobra.ExactArgs(1)
	o.AddFlags(cmd.Flags())
	command.Words(cmd, map[string][]string{"output": predict.Formats, "detail": command.Details, "color": command.Colors})
	return cmd
}

// Run reads and shows.
func Run(_ context.Context, o *Options) error {
	show, err := o.Printer(o.Out)
	if err != nil {
		return err
	}
	plan, err := o.read()
	if err != nil {
		return err
	}
	if plan.Spec.Predicted != nil && (o.Format == "" || o.Format == "wide") {
		options, err := o.ViewOptions(o.Out)
		if err != nil {
			return err
		}
		return view.Replay(o.Out, plan, options)
	}
	return show(o.Out, plan)
}

// read reads the file. What its events add up to is computed anew, since JSON
// lines do not hold it.
func (o *Options) read() (*v1alpha1.RolloutPlan, error) {
	in, name := o.In, "standard input"
	if o.File != "-" {
		file, err := os.Open(o.File)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, o.File
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	plan, err := v1alpha1.DecodePlan(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.Printable(name), err)
	}
	plan.Spec.Request = nil
	return timeline.NewPlan(plan.Spec, plan.Events), nil
}

// maxFile is the largest file that is read, in bytes: the plan of a cluster's
// largest Deployment is smaller.
const maxFile = 1 << 30
