package predict

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Prediction is a plan and what it was made from.
type Prediction struct {
	Plan     *v1alpha1.RolloutPlan
	Warnings []string
	// Targets are the workloads that are changed, Bases how they were before,
	// where they are those of a cluster.
	Targets []trace.Ref
	Bases   []v1alpha1.Base
	// Selectors find the pods of the workloads that are followed.
	Selectors map[trace.Ref]*metav1.LabelSelector

	// Refused is the server's error where the user may not make the change.
	Refused error

	options *Options
	world   *live.Snapshot // with Options.Keep
}

// Make reads the input and simulates the change.
func Make(ctx context.Context, o *Options) (*Prediction, error) { return makeFrom(ctx, o, nil) }

// Continue simulates how what is there now goes on by itself; now has the
// workloads, their ReplicaSets and pods. All else is as it was for the prediction.
func (p *Prediction) Continue(ctx context.Context, now *live.Snapshot) (*v1alpha1.RolloutPlan, error) {
	o := *p.options
	o.Files, o.Kustomize, o.Change, o.Targets, o.Selector, o.Keep, o.Diagnose = nil, "", change.Set{}, nil, nil, false, false
	o.Now = time.Time{}
	o.going = p.Plan.Spec.Workloads
	there := *p.world
	there.Time, there.Deployments, there.ReplicaSets, there.Pods = now.Time, now.Deployments, now.ReplicaSets, now.Pods
	for _, at := range o.going {
		if there.Find(at) == nil {
			return nil, fmt.Errorf("%s is gone", refName(at))
		}
	}
	next, err := makeFrom(ctx, &o, &there)
	if err != nil {
		return nil, err
	}
	return next.Plan, nil
}

func makeFrom(ctx context.Context, o *Options, taken *live.Snapshot) (*Prediction, error) {
	defer o.collectFor()()
	scene, err := newScene(ctx, o, taken)
	if err != nil {
		return nil, err
	}
	p := &Prediction{options: o, Targets: scene.targets, Bases: scene.bases(), Selectors: scene.selectors(), Refused: scene.refused}
	if o.Keep && scene.snapshot != nil {
		world := *scene.snapshot
		p.world = &world
	}
	log := trace.NewLog()
	r, err := simulate(ctx, o, scene, log)
	if err != nil {
		return nil, err
	}
	p.Warnings = append(scene.warnings, r.warnings...)
	p.Plan = timeline.NewPlan(o.spec(scene), scene.worthTelling(log.Events()))
	if o.Diagnose {
		err = r.diagnose(ctx, p.Plan)
	}
	return p, err
}

// Warn prints warnings, each once.
func Warn(w io.Writer, warnings []string) {
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
		LimitSeconds:      s.limit.Seconds(),
		StartTime:         &start,
		Workloads:         s.workloads,
		World:             s.facts,
	}
}

// defaultLimit is how far a run is followed: beyond the usual deadline of ten minutes.
const defaultLimit = time.Hour

// bases are the targets as the cluster has them.
func (s *scene) bases() []v1alpha1.Base {
	if s.snapshot == nil {
		return nil
	}
	bases := make([]v1alpha1.Base, len(s.targets))
	for i, at := range s.targets {
		bases[i].Object = at
		if obj := s.snapshot.Find(at); obj != nil {
			bases[i].UID, bases[i].ResourceVersion, bases[i].Generation = obj.GetUID(), obj.GetResourceVersion(), obj.GetGeneration()
		}
	}
	return bases
}

// selectors are those of the workloads that are followed.
func (s *scene) selectors() map[trace.Ref]*metav1.LabelSelector {
	out := map[trace.Ref]*metav1.LabelSelector{}
	for _, item := range s.all() {
		if at := ref(item.Object); slices.Contains(s.workloads, at) {
			switch o := item.Object.(type) {
			case *appsv1.Deployment:
				out[at] = o.Spec.Selector
			case *appsv1.ReplicaSet:
				out[at] = o.Spec.Selector
			}
		}
	}
	return out
}
