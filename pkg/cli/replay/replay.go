// Package replay is the command that shows a saved plan or recording again.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

const long = `Show a plan or a recording again, in any format.

FILE is what plan --save or apply --record wrote, or what -o json, yaml or jsonl
of plan and apply printed; - is standard input. A recording of a real rollout
looks as it did while it went.

Two other records of a cluster are read as recordings, the arithmetic of each
step being evaluated on what was there just before it:

  kubectl get -w      what kubectl get deploy,rs or pods -w -o json printed, the
                      streams one after the other in one file (with or without
                      --output-watch-events); times are those in the objects,
                      which are whole seconds
  audit log           JSON lines of the API server with the responses of writes
                      (level RequestResponse)

--against PLAN lays the rollout beside a plan and names where it first left it:
a step that was not planned, a planned one that was not taken, or another end.`

const example = `  # Look again at a rollout that was recorded
  kubectl rollout-sim replay web.jsonl

  # Only its decisions; its result for a script
  kubectl rollout-sim replay web.jsonl --detail decisions
  kubectl rollout-sim replay web.jsonl -o jsonpath='{.status.verdict}'

  # How did it keep to its plan?
  kubectl rollout-sim replay web.jsonl --against web.plan

  # A rollout that nobody recorded, from the API server's audit log
  kubectl rollout-sim replay audit.log --detail decisions`

// Options are what is shown, and how.
type Options struct {
	genericiooptions.IOStreams
	predict.Output

	File string
	// Against is a plan that the rollout is compared with; empty for none.
	Against          string
	FailOnDivergence bool
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{IOStreams: streams}
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "replay FILE", Short: "Show a saved plan or recording again", Long: long + "\n\n" + view.Legend, Example: example}
	cmd := command.New(text, func(_ *cobra.Command, args []string) error {
		o.File = args[0]
		switch {
		case o.FailOnDivergence && o.Against == "":
			return errors.New("--fail-on-divergence is about a plan: pass --against PLAN")
		case o.File == "-" && o.Against == "-":
			return errors.New("standard input can be read only once: - is given twice")
		}
		return nil
	}, func(ctx context.Context) error { return runF(ctx, o) })
	cmd.Args = cobra.ExactArgs(1)
	command.Group(cmd.Flags(), "Comparison", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.Against, "against", "", "A `PLAN` to compare with: how far off each step was, and where the rollout first left the plan")
		flags.BoolVar(&o.FailOnDivergence, "fail-on-divergence", false, "With --against, end with exit code 5 when the rollout left the plan")
	})
	o.AddFlags(cmd.Flags())
	command.Words(cmd, map[string][]string{"output": predict.Formats, "detail": command.Details, "color": command.Colors, "trace-format": predict.TraceFormats})
	return cmd
}

// Run reads and shows.
func Run(_ context.Context, o *Options) error {
	show, err := o.Printer(o.Out)
	if err != nil {
		return err
	}
	plan, err := Read(o.File, o.In)
	if err != nil {
		return err
	}
	if err := o.compare(plan); err != nil {
		return err
	}
	if err := o.Pictures.Write(plan); err != nil {
		return err
	}
	if (plan.Spec.Predicted != nil || plan.Spec.Source == v1alpha1.SourceRecording) && (o.Format == "" || o.Format == "wide") {
		options, err := o.ViewOptions(o.Out)
		if err != nil {
			return err
		}
		if err := view.Replay(o.Out, plan, options); err != nil {
			return err
		}
		if err := o.Pictures.Draw(o.Out, plan, options); err != nil {
			return err
		}
	} else if err := show(o.Out, plan); err != nil {
		return err
	}
	if d := plan.Status.Divergence; d != nil && o.FailOnDivergence {
		return &exit.Error{Code: exit.Diverged, Message: fmt.Sprintf("the rollout left the plan at %.3fs: %s", d.OffsetSeconds, d.Message)}
	}
	return nil
}

// compare lays the rollout beside the plan of --against.
func (o *Options) compare(plan *v1alpha1.RolloutPlan) error {
	if o.Against == "" {
		return nil
	}
	planned, err := Read(o.Against, o.In)
	if err != nil {
		return err
	}
	for _, w := range plan.Status.Workloads {
		if !slices.ContainsFunc(planned.Status.Workloads, func(p v1alpha1.WorkloadStatus) bool { return p.Object == w.Object }) {
			return fmt.Errorf("%s: this plan is not about %s", manifest.Printable(o.Against), w.Object)
		}
	}
	plan.Spec.Predicted = timeline.Predicted(planned)
	plan.Status.Divergence = timeline.Of(plan).Diverged(plan.Spec.Predicted)
	return nil
}
