// Package controllers is the command that runs the controllers for an API
// server that has none.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

const long = `Run the Deployment and ReplicaSet controllers for an API server without them.

The same logic that plan simulates drives real objects here: for envtest, a bare
kube-apiserver, or a control plane whose kube-controller-manager was started
with --controllers=*,-deployment-controller,-replicaset-controller.

Client limits, workers and resync are kube-controller-manager's unless flags say
otherwise. A Lease keeps a second run waiting. Nothing is kept but what the API
holds, so a run that was killed is taken up by the next.

Where a kube-controller-manager holds its lease, or something else is seen to
publish the status of Deployments, it ends with an error: two Deployment
controllers would fight. With --force it goes on: for a kube-controller-manager
that runs without these two.

It runs until interrupted; passes under way are finished.`

const example = `  # Drive all namespaces, and say every decision with its arithmetic
  kubectl rollout-sim controllers --detail=decisions

  # Only one namespace, every pass and write, as JSON lines
  kubectl rollout-sim controllers -n team --detail=syncs -o jsonl

  # Beside a kube-controller-manager that runs without these two controllers
  kubectl rollout-sim controllers --force`

// Options are what is run, and how it is shown.
type Options struct {
	genericiooptions.IOStreams

	Config            *rest.Config
	Host              live.Options
	Version           rollout.Version
	QPS               float32
	Burst             int
	DeploymentWorkers int
	ReplicaSetWorkers int

	Detail string // empty: nothing is traced
	Format string // empty or jsonl
	Color  string

	raw rawFlags
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(f genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{IOStreams: streams}
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "controllers [-n NAMESPACE]", Short: "Run the controllers for an API server without them", Long: long, Example: example}
	cmd := command.New(text, func(*cobra.Command, []string) error { return o.complete(f) }, func(ctx context.Context) error { return runF(ctx, o) })
	cmd.Args = cobra.NoArgs
	o.addFlags(cmd.Flags())
	command.Words(cmd, map[string][]string{"detail": command.Details, "output": {"jsonl"}, "color": command.Colors})
	return cmd
}

// Run drives until ctx ends.
func Run(ctx context.Context, o *Options) error {
	if !o.Host.Force {
		if err := live.CheckVacant(ctx, o.Config, o.Host.Namespace); err != nil {
			return WayOut(err)
		}
	}
	tracer, err := o.tracer()
	if err != nil {
		return err
	}
	command.Quiet()
	o.Host.Trace, o.Host.Problem = tracer, o.problems()
	if lease := o.Host.Lease; lease != nil {
		lease.Waiting = func(holder string) {
			fmt.Fprintf(o.ErrOut, "waiting for %s, which holds the lease %s/%s\n", manifest.Printable(holder), lease.Namespace, lease.Name)
		}
	}
	host, err := live.Start(ctx, o.Config, o.Host, o.specs()...)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.ErrOut, "starting the controllers of %s for %s\n", o.Version, o.scope())
	select {
	case <-host.Ready():
		fmt.Fprintln(o.ErrOut, "running")
	case <-host.Done():
	}
	if err := host.Wait(); err != nil {
		return WayOut(err)
	}
	fmt.Fprintln(o.ErrOut, "stopped")
	return nil
}

// WayOut adds the way out to an error of live.CheckVacant or of a host: what
// --force is for.
func WayOut(err error) error {
	var occupied *live.OccupiedError
	switch {
	case errors.As(err, &occupied) && !occupied.Ours:
		return fmt.Errorf("%w; pass --force if it runs without deployment-controller and replicaset-controller", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; pass --force if you know that no other Deployment controller is at work", err)
	}
	return err
}

func (o *Options) scope() string {
	if o.Host.Namespace == "" {
		return "all namespaces"
	}
	return "namespace " + o.Host.Namespace
}

// specs are the controllers as the flags want them.
func (o *Options) specs() []engine.Spec {
	d, rs := deployment.Spec(o.Version), replicaset.Spec(o.Version)
	d.Workers, rs.Workers = o.DeploymentWorkers, o.ReplicaSetWorkers
	for _, spec := range []*engine.Spec{&d, &rs} {
		spec.QPS, spec.Burst = o.QPS, o.Burst
	}
	return []engine.Spec{d, rs}
}

// tracer prints events, or is nil when none are wanted. What standard output
// does not take is lost: the controllers go on.
func (o *Options) tracer() (func(trace.Event), error) {
	if o.Detail == "" {
		return nil, nil
	}
	depth, err := command.ParseDetail(o.Detail)
	if err != nil {
		return nil, err
	}
	if o.Format == "jsonl" {
		if err := view.Header(o.Out, v1alpha1.RolloutPlanSpec{KubernetesVersion: o.Version.String()}); err != nil {
			return nil, err
		}
		return func(e trace.Event) {
			if trace.DepthOf(e.Detail) <= depth {
				_ = view.Line(o.Out, e)
			}
		}, nil
	}
	stream := view.NewStream(o.Out, view.Options{Detail: depth, Color: view.Color(o.Color)})
	return func(e trace.Event) { _ = stream.Event(e) }, nil
}

// problems prints what goes wrong, the same only once in a row. A cache that
// has not caught up with its controller's writes is no problem.
func (o *Options) problems() func(error) {
	var mu sync.Mutex
	last := ""
	return func(err error) {
		var stale *replicaset.StaleReadError
		if errors.As(err, &stale) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if text := manifest.Printable(err.Error()); text != last {
			last = text
			fmt.Fprintf(o.ErrOut, "warning: %s\n", text)
		}
	}
}
