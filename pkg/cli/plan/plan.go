// Package plan is the command that simulates a change and says what happens.
package plan

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
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

Where there is a kubeconfig context, the cluster is read and asked: what it has
is the world, its server computes the change by a dry run, and how long pods
take is measured. Nothing is changed. What you may not read is assumed, and said.
  -f FILE               as kubectl apply would, with or without --server-side
  TYPE/NAME --image …   as the kubectl verbs would
  TYPE/NAME             how a rollout that has begun will go on

Otherwise, or with --offline, what there is before the change:
  nothing               -f FILE alone is a first creation
  -f FILE and a change  FILE as finished rollout; --image and the like change it
  --from OLD -f NEW     OLD as finished rollout; NEW is applied to it
  --state DUMP          lists saved with kubectl get -o yaml; -f or flags change
                        them, and without any change the rollout goes on

Equal input and --seed give equal output.`

const example = `  # In the cluster at hand: this manifest, a new image, and what is going on already
  kubectl rollout-sim plan -f web.yaml
  kubectl rollout-sim plan deploy/web --image app=nginx:1.26
  kubectl rollout-sim plan deploy/web

  # Without a cluster: what happens when this manifest is created?
  kubectl rollout-sim plan --offline -f web.yaml

  # What happens when the new manifest replaces the old one?
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml

  # A new image, on three small nodes, with pods that take 5 to 9 seconds
  kubectl rollout-sim plan --offline -f web.yaml --image app=nginx:1.26 --nodes 3:cpu=4,memory=8Gi --ready-after 5s..9s

  # The new version never becomes ready: how many pods keep serving?
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml --never-ready

  # From what a cluster holds now: how will it go on, and what would an undo do?
  kubectl rollout-sim capture deploy/web -o dump.yaml
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
		Use:     "plan (-f FILE | -k DIR | TYPE/NAME | --state DUMP) [change flags]",
		Short:   "Simulate a change and say what happens",
		Long:    long + "\n\n" + exit.Help,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.raw.undoGiven = cmd.Flags().Changed("undo")
			o.raw.replicasSet = cmd.Flags().Changed("replicas")
			o.raw.patchSet = cmd.Flags().Changed("patch")
			o.raw.versionSet = cmd.Flags().Changed("kubernetes-version")
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
	show, err := o.Output.printer(o.Out)
	if err != nil {
		return err
	}
	// A simulation keeps most of what it makes, so that collecting rarely costs
	// little; a large cluster is mostly read and thrown away.
	heap := largeHeap
	if o.Cluster != nil {
		heap = smallHeap
	}
	defer debug.SetGCPercent(debug.SetGCPercent(heap))
	scene, err := newScene(ctx, o)
	if err != nil {
		return err
	}
	spec := o.spec(scene)
	log := trace.NewLog()
	r, err := simulate(ctx, o, scene, log)
	if err != nil {
		return err
	}
	warn(o.ErrOut, append(scene.warnings, r.warnings...))
	plan := timeline.NewPlan(spec, scene.worthTelling(log.Events()))
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

// How much may be allocated before a collection, in percent of what lives.
const (
	smallHeap = 40
	largeHeap = 400
)

// warn prints warnings, each once.
func warn(w io.Writer, warnings []string) {
	for i, warning := range warnings {
		if !slices.Contains(warnings[:i], warning) {
			fmt.Fprintf(w, "warning: %s\n", manifest.Printable(warning))
		}
	}
}

// spec is the question, as the plan repeats it.
func (o *Options) spec(s *scene) v1alpha1.RolloutPlanSpec {
	start := metav1.NewMicroTime(s.start)
	return v1alpha1.RolloutPlanSpec{
		Seed:              o.Seed,
		KubernetesVersion: o.Version.String(),
		Source:            s.source,
		Context:           s.context,
		Timing:            o.TimingName,
		LimitSeconds:      o.Limit.Seconds(),
		StartTime:         &start,
		Workloads:         s.workloads,
		World:             s.facts,
	}
}

// defaultLimit is how far a run is followed: beyond the usual deadline of ten minutes.
const defaultLimit = time.Hour
