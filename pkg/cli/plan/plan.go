// Package plan is the command that simulates a change and says what happens.
package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

const long = `Simulate a change to a Deployment or ReplicaSet and say what will happen.

The controllers' own logic runs in virtual time against a simulated API
server, scheduler and kubelets, so that the answer takes milliseconds: every
decision with its arithmetic, every pod made and deleted, what happens to
availability, how long it takes, and whether it gets stuck and why.

What there is before the change:
  nothing               -f FILE alone is a first creation
  -f FILE and a change  FILE as finished rollout; --image and the like change it
  --from OLD -f NEW     OLD as finished rollout; NEW is applied to it
  --state DUMP          lists saved with kubectl get -o yaml; -f or flags change
                        them, and without any change the rollout goes on

Equal input and --seed give equal output.`

const example = `  # What happens when this manifest is created?
  kubectl rollout-sim plan -f web.yaml

  # What happens when the new manifest replaces the old one?
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml

  # A new image, on three small nodes, with pods that take 5 to 9 seconds
  kubectl rollout-sim plan -f web.yaml --image app=nginx:1.26 --nodes 3:cpu=4,memory=8Gi --ready-after 5s..9s

  # The new version never becomes ready: how many pods keep serving?
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml --never-ready

  # From what a cluster holds now: how will it go on, and what would an undo do?
  kubectl get deploy,rs,pods,nodes -o yaml > dump.yaml
  kubectl rollout-sim plan --state dump.yaml deploy/web
  kubectl rollout-sim plan --state dump.yaml deploy/web --undo

  # In CI: fail when fewer than 90% of the pods stay available
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml --fail-on 'stuck,deadline,minAvailable<90%'`

// NewCommand makes the command. A test may pass its own run.
func NewCommand(f genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{IOStreams: streams}
	if runF == nil {
		runF = Run
	}
	cmd := &cobra.Command{
		Use:     "plan (-f FILE | -k DIR | --state DUMP) [TYPE/NAME | TYPE NAME] [change flags]",
		Short:   "Simulate a change and say what happens",
		Long:    long + "\n\n" + exit.Help,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.raw.undoGiven = cmd.Flags().Changed("undo")
			o.raw.replicasSet = cmd.Flags().Changed("replicas")
			o.raw.patchSet = cmd.Flags().Changed("patch")
			if err := o.Complete(f, args); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	completeFlags(cmd)
	return cmd
}

// Run makes the plan and prints it.
func Run(ctx context.Context, o *Options) error {
	scene, err := newScene(o)
	if err != nil {
		return err
	}
	spec := o.spec(scene)
	log := trace.NewLog()
	show, err := o.Output.printer(o.Out)
	if err != nil {
		return err
	}
	r, err := simulate(ctx, o, scene, log)
	if err != nil {
		return err
	}
	for _, warning := range append(scene.warnings, r.warnings...) {
		fmt.Fprintf(o.ErrOut, "warning: %s\n", manifest.Printable(warning))
	}
	plan := timeline.NewPlan(spec, log.Events())
	if err := show(o.Out, plan); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	if err := CheckFailOn(o.FailOn, plan.Status); err != nil {
		return err
	}
	if o.DetailedExitCode && plan.Status.Verdict != v1alpha1.NothingToDo {
		return &exit.Error{Code: exit.Changes}
	}
	return nil
}

// spec is the question, as the plan repeats it.
func (o *Options) spec(s *scene) v1alpha1.RolloutPlanSpec {
	start := metav1.NewMicroTime(s.start)
	return v1alpha1.RolloutPlanSpec{
		Seed:              o.Seed,
		KubernetesVersion: o.Version.String(),
		Source:            s.source,
		Timing:            o.TimingName,
		LimitSeconds:      o.Limit.Seconds(),
		StartTime:         &start,
		Workloads:         s.workloads,
		World:             s.facts,
	}
}

// defaultLimit is how far a run is followed: beyond the usual deadline of ten minutes.
const defaultLimit = time.Hour
