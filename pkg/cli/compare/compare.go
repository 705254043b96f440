// Package compare is the command that puts strategies side by side.
package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sweep"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

const long = `Simulate a change to a Deployment under several strategies and compare them.

What changes, and what there is before, is said as for plan. The strategies are
every combination of --max-surge, --max-unavailable and --min-ready; a list that
is left out is what the Deployment has. --strategy Recreate adds Recreate. With
none of these flags a usual choice is compared. The Deployment's own strategy
always comes first.

A * marks the strategies that no other one beats: to do better in duration,
available pods or pods at once, one has to do worse in another of these.

--goal chooses one and prints the patch that sets it:
  fastest, safest (most available pods) or leanest (fewest pods at once),
  alone or with bounds, joined by "and":
  minAvailable, peakPods, peakCPU, peakMemory and duration, with >= > <= < =`

const example = `  # What would a larger surge be worth?
  kubectl rollout-sim compare deploy/web --image app=nginx:1.26

  # Twelve strategies side by side
  kubectl rollout-sim compare --from web.yaml -f web-next.yaml \
    --max-surge 1,25%,100% --max-unavailable 0,25% --min-ready 0s,10s

  # The fastest that loses no pod and needs at most 13
  kubectl rollout-sim compare deploy/web --restart \
    --goal 'fastest with minAvailable>=100% and peakPods<=13'`

// Options are what is compared, and how the result is shown.
type Options struct {
	predict.Options

	Axes Axes
	Goal string
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(f genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{}
	o.IOStreams, o.Detail = streams, command.Details[0]
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "compare (-f FILE | -k DIR | TYPE/NAME | --state DUMP) [change flags]", Short: "Compare strategies for a change", Long: long, Example: example}
	cmd := command.New(text, func(cmd *cobra.Command, args []string) error {
		if err := o.Axes.complete(); err != nil {
			return err
		}
		if o.Goal != "" || cmd.Flags().Changed("goal") {
			if _, err := sweep.ParseGoal(o.Goal); err != nil {
				return fmt.Errorf("--goal: %w", err)
			}
		}
		return o.Prepare(cmd, f, args)
	}, func(ctx context.Context) error { return runF(ctx, o) })
	command.Group(cmd.Flags(), "Strategies", func(flags *pflag.FlagSet) {
		o.Axes.addFlags(flags)
		flags.StringVar(&o.Goal, "goal", "", "Choose a strategy by a `GOAL`: "+sweep.GoalHelp)
	})
	o.AddQuestionFlags(cmd.Flags())
	o.AddScenarioFlags(cmd.Flags())
	o.AddSummaryFlags(cmd.Flags())
	command.Words(cmd, map[string][]string{"output": predict.SummaryFormats, "strategy": {rollingUpdate, recreate}})
	predict.CompleteFlags(cmd)
	cmd.ValidArgsFunction = predict.Completion{Getter: f}.Args
	return cmd
}

// Run compares and prints. A goal that no strategy meets is an *exit.Error.
func Run(ctx context.Context, o *Options) error {
	options, err := o.ViewOptions(o.Out)
	if err != nil {
		return err
	}
	show, err := predict.Other(o.Format, func(w io.Writer, c *v1alpha1.RolloutComparison) error { return view.Comparison(w, c, options) })
	if err != nil {
		return err
	}
	defer predict.CollectRarely()()
	result, warnings, err := o.compare(ctx)
	if err != nil {
		return err
	}
	predict.Warn(o.ErrOut, warnings)
	if err := show(o.Out, result); err != nil {
		return fmt.Errorf("printing the comparison: %w", err)
	}
	if o.Goal != "" && result.Status.Chosen == nil {
		return &exit.Error{Code: exit.Condition, Message: fmt.Sprintf("no strategy meets --goal %q", o.Goal)}
	}
	return nil
}

// compare plays the change under each strategy.
func (o *Options) compare(ctx context.Context) (*v1alpha1.RolloutComparison, []string, error) {
	stage, err := predict.ReadStage(ctx, &o.Options)
	if err != nil {
		return nil, nil, err
	}
	result := v1alpha1.NewRolloutComparison(v1alpha1.RolloutComparisonSpec{RolloutPlanSpec: stage.Spec(), Goal: o.Goal})
	if at := result.Spec.Workloads; len(at) != 1 || at[0].Kind != "Deployment" {
		return nil, nil, fmt.Errorf("compare is about one Deployment: say with deployment/NAME which of the input's %d workloads", len(at))
	}
	first, err := stage.Play(ctx, predict.Variant{Seed: o.Seed})
	if err != nil {
		return nil, nil, err
	}
	result.Spec.World = first.Facts
	own := strategyOf(first.Specs[0])
	others, warning := o.Axes.strategies(own)
	all := make([]v1alpha1.StrategyResult, len(others)+1)
	all[0] = resultOf(own, first)
	all[0].Current = true
	bar := command.StartBar(o.ErrOut, "strategies", len(others))
	err = sweep.Each(ctx, len(others), func(ctx context.Context, i int) error {
		p, err := stage.Play(ctx, predict.Variant{Seed: o.Seed, Edit: with(result.Spec.Workloads[0], others[i])})
		if err == nil {
			all[i+1] = resultOf(others[i], p)
		}
		return err
	}, bar.Tell)
	bar.End()
	if err != nil {
		return nil, nil, err
	}
	result.Status.Strategies = all
	warnings := append(stage.Warnings(), first.Warnings...)
	if warning != "" {
		warnings = append(warnings, warning)
	}
	return result, warnings, o.judge(result)
}

// judge marks the front and chooses by the goal.
func (o *Options) judge(c *v1alpha1.RolloutComparison) error {
	all := c.Status.Strategies
	sweep.MarkPareto(all)
	if o.Goal == "" {
		return nil
	}
	goal, err := sweep.ParseGoal(o.Goal)
	if err != nil {
		return fmt.Errorf("--goal: %w", err)
	}
	for i := range all {
		met := goal.Met(all[i])
		all[i].MeetsGoal = &met
	}
	best := goal.Choose(all)
	if best < 0 {
		return nil
	}
	c.Status.Chosen = &best
	c.Status.Patch, err = json.Marshal(patchFor(all[best].Strategy))
	return err
}

func resultOf(s v1alpha1.Strategy, p *predict.Played) v1alpha1.StrategyResult {
	w := p.Status.Workloads[0]
	return v1alpha1.StrategyResult{
		Strategy: s, Verdict: w.Verdict, DurationSeconds: w.DurationSeconds,
		Available: w.Available, Pods: w.Pods, PeakRequests: p.Requests,
	}
}
