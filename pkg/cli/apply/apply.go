// Package apply is the command that makes a change for real and follows what
// becomes of it, beside the plan.
package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

const long = `Make a change for real, beside its plan.

The plan is shown first. On a terminal you are asked; elsewhere --yes makes the
change. It is made by kubectl's own code: -f and -k as kubectl apply, with or
without --server-side, change flags as the verbs they are named after.

Then the rollout is followed to its end. Where the cluster runs a Deployment
controller, that one acts, and every step it takes is told with the arithmetic
that leads to it; a step that our logic would not have taken is marked. Where
there is none, this process drives the rollout (--driver=embedded), and refuses
to where somebody else does. Killed half-way, it goes on when started again.

The column PLAN says how much later, or earlier, than planned a step came.

Interrupting it stops the watching, and nothing else: the rollout goes on.`

const example = `  # Show what a new image will do, ask, and do it
  kubectl rollout-sim apply deploy/web --image app=nginx:1.27

  # In CI: apply a manifest; give up on what waiting cannot heal, and go back
  kubectl rollout-sim apply -f web.yaml --yes --fail-fast --on-failure=undo \
    --timeout 10m

  # Apply a plan that was reviewed, unless the cluster has moved on
  kubectl rollout-sim apply --plan web.plan

  # Stop at a quarter of the new pods for ten minutes, and keep a recording
  kubectl rollout-sim apply deploy/web --image app=nginx:1.27 \
    --pause-at 25% --resume-after 10m --record web.jsonl`

// The words of --driver and --on-failure.
const (
	driverAuto     = "auto"
	driverCluster  = "cluster"
	driverEmbedded = "embedded"

	failureNone  = "none"
	failurePause = "pause"
	failureUndo  = "undo"
)

var (
	drivers    = []string{driverAuto, driverCluster, driverEmbedded}
	onFailures = []string{failureNone, failurePause, failureUndo}
)

// Options are what is changed, and how it is guarded.
type Options struct {
	predict.Options

	Getter           genericclioptions.RESTClientGetter
	Yes              bool
	DryRun           kubectl.DryRun
	Driver           string
	Force            bool          // drive although somebody else seems to
	Timeout          time.Duration // zero: none
	FailFast         bool
	Restarts         int32 // a container may end so often before --fail-fast gives up
	OnFailure        string
	FailOnDivergence bool
	PauseAt          Share
	ResumeAfter      time.Duration // zero: on a key
	Record           string        // a file for the trace; empty for none

	keys     io.Reader // what a person answers on
	planFile string
	saved    *v1alpha1.RolloutPlan // of --plan
	pauseAt  string
	dryRun   string
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(f genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Getter: f, keys: streams.In}
	o.IOStreams = streams
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "apply (-f FILE | -k DIR | TYPE/NAME change flags | --plan FILE)", Short: "Make a change for real, beside its plan", Long: long + "\n\n" + view.Legend, Example: example}
	cmd := command.New(text, func(cmd *cobra.Command, args []string) error { return o.complete(cmd, args) },
		func(ctx context.Context) error { return runF(ctx, o) })
	o.AddFlags(cmd.Flags())
	command.Group(cmd.Flags(), "Making the change", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.planFile, "plan", "", "Make the change of a plan, a `FILE` of plan --save, unless the workload has changed since")
		o.AddRealFlags(flags)
	})
	predict.CompleteFlags(cmd)
	cmd.ValidArgsFunction = predict.Completion{Getter: f}.Args
	command.Words(cmd, map[string][]string{"dry-run": kubectl.Strategies, "driver": drivers, "on-failure": onFailures})
	return cmd
}

// AddRealFlags adds the flags of real rollouts.
func (o *Options) AddRealFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&o.Yes, "yes", "y", false, "Make the change without asking")
	flags.StringVar(&o.dryRun, "dry-run", string(kubectl.DryRunNone), "A `WORD`: none, client (only compute the change) or server (send it, not to be kept)")
	flags.StringVar(&o.Driver, "driver", driverAuto, "Who acts, a `WORD`: cluster (its own controllers), embedded (this process) or auto")
	flags.BoolVar(&o.Force, "force", false, "With --driver=embedded, drive although another Deployment controller seems to be at work")
	flags.DurationVar(&o.Timeout, "timeout", 0, "Fail when the rollout takes longer than `TIME`; 0 is no limit")
	flags.BoolVar(&o.FailFast, "fail-fast", false, "Fail on what waiting does not heal: a missing image, a crash loop, a full quota, no node, a refusal")
	flags.Int32Var(&o.Restarts, "fail-fast-restarts", 3, "With --fail-fast, a container that has ended `N` times is in a crash loop")
	flags.StringVar(&o.OnFailure, "on-failure", failureNone, "What to do when the rollout fails, a `WORD`: none, pause or undo")
	flags.BoolVar(&o.FailOnDivergence, "fail-on-divergence", false, "End with exit code 5 when the rollout leaves the plan: another step, another hand, another end")
	flags.StringVar(&o.pauseAt, "pause-at", "", "Pause when `N` new pods, or N%, are available")
	flags.DurationVar(&o.ResumeAfter, "resume-after", 0, "With --pause-at, resume after `TIME` instead of on a key")
	flags.StringVar(&o.Record, "record", "", "A `FILE` for the trace, as JSON lines, for replay")
}

func (o *Options) complete(cmd *cobra.Command, args []string) error {
	var err error
	if o.planFile != "" {
		if args, err = o.readPlan(cmd, args); err != nil {
			return err
		}
	}
	if err := o.Prepare(cmd, o.Getter, args); err != nil {
		return err
	}
	if o.saved != nil {
		o.Namespace, o.ExplicitNamespace = o.saved.Spec.Request.Namespace, o.saved.Spec.Request.Explicit
	}
	return o.Check()
}

// Check refuses what cannot be done for real, before anything is read.
func (o *Options) Check() error {
	o.DryRun = kubectl.DryRun(o.dryRun)
	if o.keys == nil {
		o.keys = o.In
	}
	for _, choice := range []struct {
		flag, value string
		words       []string
	}{{"dry-run", o.dryRun, kubectl.Strategies}, {"driver", o.Driver, drivers}, {"on-failure", o.OnFailure, onFailures}} {
		if !slices.Contains(choice.words, choice.value) {
			return fmt.Errorf("--%s must be one of %v, not %q", choice.flag, choice.words, choice.value)
		}
	}
	var err error
	if o.PauseAt, err = ParseShare(o.pauseAt); err != nil {
		return err
	}
	switch {
	case o.Cluster == nil:
		return errors.New("there is no cluster to change: set a kubeconfig context, without --offline, --state and --from")
	case !o.HasManifests() && o.Change.Empty():
		return errors.New("nothing to change: pass -f FILE, or TYPE/NAME with a change such as --image")
	case o.DryRun == kubectl.DryRunClient && o.Apply.ServerSide:
		return errors.New("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)")
	case o.Timeout < 0 || o.ResumeAfter < 0:
		return errors.New("--timeout and --resume-after must not be negative")
	case o.Force && o.Driver != driverEmbedded:
		return errors.New("--force goes with --driver=embedded")
	case o.Restarts < 1:
		return errors.New("--fail-fast-restarts takes at least 1")
	case o.ResumeAfter > 0 && !o.PauseAt.Given:
		return errors.New("--resume-after goes with --pause-at")
	case o.PauseAt.Given && o.ResumeAfter == 0 && !o.terminal():
		return errors.New("this is no terminal to press a key on: pass --resume-after with --pause-at")
	case !o.Yes && o.DryRun == kubectl.DryRunNone && !o.terminal():
		return errors.New("this is no terminal to ask on: pass --yes to make the change")
	}
	return nil
}

// terminal says whether a person is there to ask.
func (o *Options) terminal() bool { return isTerminal(o.keys) }

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
