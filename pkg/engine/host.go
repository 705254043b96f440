package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Goal is what a run is for.
type Goal struct {
	// Begin is the person's change; it runs once, at the start. Nil means: go on as it is.
	Begin func(ctx context.Context, hand Hand) error
	// Workloads are the Deployments and ReplicaSets whose end ends the run.
	Workloads []trace.Ref
	// Limit ends the run in any case, in time since its start.
	Limit time.Duration
	// Until keeps the run from ending before, in time since its start: what is to
	// happen until then happens, however the workloads stand.
	Until time.Duration
	// WholeLimit runs to Limit even when nothing is left to wait for.
	WholeLimit bool
}

// Hand is the API as a person uses it, through admission and validation.
type Hand interface {
	// Get returns a copy of an object, or an apierrors NotFound.
	Get(ctx context.Context, ref trace.Ref) (runtime.Object, error)
	// Apply creates the object or, when it exists, replaces its spec, labels
	// and annotations, whatever the resourceVersion.
	Apply(ctx context.Context, obj runtime.Object) (runtime.Object, error)
	// Delete removes an object with the given propagation policy (empty: the kind's default).
	Delete(ctx context.Context, ref trace.Ref, policy string) error
}

// Outcome is how a run ended. What happened on the way is in the trace.
type Outcome struct {
	// Why is the word of trace.Ended.
	Why string
	// Duration is the time the run covered.
	Duration time.Duration
}

// Host runs controllers: sim.World in virtual time, live.Cluster for real.
type Host interface {
	Run(ctx context.Context, goal Goal) (Outcome, error)
}
