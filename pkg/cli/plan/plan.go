// Package plan is the command that simulates a change and says what happens.
package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/apply"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

const long = `Simulate a change to a Deployment or ReplicaSet and say what will happen.

The controllers' own logic runs in virtual time against a simulated API
server, scheduler and kubelets, so that the answer takes milliseconds: every
decision with its arithmetic, every pod made and deleted, what happens to
availability, how long it takes, and whether it gets stuck and why.

Where there is a kubeconfig context, the cluster is read and asked: what it has
is the world, its server computes the change by a dry run, and how long pods
take is measured. Nothing is changed. What you may not read is assumed, which
the plan says.
  -f FILE               as kubectl apply would, with or without --server-side
  TYPE/NAME --image …   as the kubectl verbs would
  TYPE/NAME             how a rollout that has begun will go on

Otherwise, or with --offline, what there is before the change:
  nothing               -f FILE alone is a first creation
  -f FILE and a change  FILE as finished rollout; --image and the like change it
  --from OLD -f NEW     OLD as finished rollout; NEW is applied to it
  --state DUMP          lists saved with kubectl get -o yaml; -f or flags change
                        them, and without any change the rollout goes on

Equal input and --seed give equal output. With --runs N the change is played
with N seeds, and what you get is percentiles, and the seed of the worst run.

With --apply the change is then made for real, as by apply.`

const example = `  # In the cluster at hand: a manifest, a new image, and what is going on anyway
  kubectl rollout-sim plan -f web.yaml
  kubectl rollout-sim plan deploy/web --image app=nginx:1.26
  kubectl rollout-sim plan deploy/web

  # Without a cluster: what happens when this manifest is created?
  kubectl rollout-sim plan --offline -f web.yaml

  # What happens when the new manifest replaces the old one?
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml

  # A new image, on three small nodes, with pods that take 5 to 9 seconds
  kubectl rollout-sim plan --offline -f web.yaml --image app=nginx:1.26 \
    --nodes 3:cpu=4,memory=8Gi --ready-after 5s..9s

  # The new version never becomes ready: how many pods keep serving?
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml --never-ready

  # From what a cluster holds now: how will it go on, and what would an undo do?
  kubectl rollout-sim capture deploy/web -o dump.yaml
  kubectl rollout-sim plan --state dump.yaml deploy/web
  kubectl rollout-sim plan --state dump.yaml deploy/web --undo

  # Keep a plan for review; apply it later, if nothing has changed since
  kubectl rollout-sim plan deploy/web --image app=nginx:1.26 --save web.plan
  kubectl rollout-sim apply --plan web.plan

  # A thousand futures: how long may it take, and how bad may it get?
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml \
    --ready-after 2s..20s --runs 1000

  # In CI: fail when fewer than 90% of the pods stay available
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml \
    --fail-on 'stuck,deadline,minAvailable<90%'`

// Options are what is planned, and what is done with the plan.
type Options struct {
	predict.Options
	Many

	// Save is the file to keep the plan in; empty for none.
	Save string
	// Apply makes the change for real after it was shown.
	Apply *apply.Options
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(f genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{}
	o.IOStreams = streams
	if runF == nil {
		runF = Run
	}
	real, doApply := &apply.Options{Getter: f}, false
	text := command.Text{Use: "plan (-f FILE | -k DIR | TYPE/NAME | --state DUMP) [change flags]", Short: "Simulate a change and say what happens", Long: long + "\n\n" + view.Legend, Example: example}
	cmd := command.New(text, func(cmd *cobra.Command, args []string) error {
		if err := o.Prepare(cmd, f, args); err != nil {
			return err
		}
		if err := o.Many.complete(cmd); err != nil {
			return err
		}
		switch {
		case doApply:
			if o.Save != "" {
				return errors.New("--apply makes the change at once, --save keeps the plan of it for later: pass one of them")
			}
			real.Options, o.Apply = o.Options, real
			return real.Check()
		case o.Save != "" && o.Cluster == nil:
			return errors.New("--save keeps a change to make in a cluster: there is none")
		}
		return nil
	}, func(ctx context.Context) error { return runF(ctx, o) })
	o.AddQuestionFlags(cmd.Flags())
	o.AddScenarioFlags(cmd.Flags())
	o.AddAnswerFlags(cmd.Flags())
	o.Many.addFlags(cmd.Flags())
	command.Group(cmd.Flags(), "Making the change", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.Save, "save", "", "A `FILE` to keep the plan in, for apply --plan and for replay")
		flags.BoolVar(&doApply, "apply", false, "Make the change for real, as apply does, with:")
		real.AddRealFlags(flags)
	})
	predict.CompleteFlags(cmd)
	cmd.ValidArgsFunction = predict.Completion{Getter: f}.Args
	return cmd
}

// Run makes the plan and prints it.
func Run(ctx context.Context, o *Options) error {
	if o.Apply != nil {
		return apply.Run(ctx, o.Apply)
	}
	if o.Runs > 0 {
		return runMany(ctx, o)
	}
	show, err := o.Printer(o.Out)
	if err != nil {
		return err
	}
	if o.Cluster == nil {
		defer predict.CollectRarely()()
	}
	p, err := predict.Make(ctx, &o.Options)
	if err != nil {
		return err
	}
	predict.Warn(o.ErrOut, p.Warnings)
	if o.Save != "" {
		if err := p.Save(o.Save); err != nil {
			return err
		}
	}
	if err := o.Pictures.Write(p.Plan); err != nil {
		return err
	}
	if err := show(o.Out, p.Plan); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	if err := predict.CheckFailOn(o.FailOn, p.Plan.Status); err != nil {
		return err
	}
	if o.DetailedExitCode && p.Plan.Status.Verdict != v1alpha1.NothingToDo {
		return &exit.Error{Code: exit.Changes}
	}
	return nil
}
