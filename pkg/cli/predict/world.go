package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/diagnosis"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// run is one simulation.
type run struct {
	*Options
	scene    *scene
	world    *scenario.World
	pods     *behaviour
	warnings []string
	relaxed  *diagnosis.Relaxed
}

// simulate plays the scene in virtual time; what happens goes to log.
func simulate(ctx context.Context, o *Options, s *scene, log *trace.Log) (*run, error) {
	return simulateIn(ctx, o, s, log, &diagnosis.Relaxed{})
}

// simulateIn plays the scene in a world that is relaxed.
func simulateIn(ctx context.Context, o *Options, s *scene, log *trace.Log, relaxed *diagnosis.Relaxed) (*run, error) {
	pods := &behaviour{options: o, scene: s, healthy: map[string]bool{}}
	story := s.story
	if relaxed.Heard {
		story.Faults = nil
	}
	world, err := scenario.NewWorld(scenario.Parts{
		Version: o.Version,
		Seed:    o.Seed,
		Timing:  o.Timing,
		Start:   s.start,
		Log:     log,
		Pods:    pods.profile,
		Well:    relaxed.Well,
		Story:   story,
	})
	if err != nil {
		return nil, fmt.Errorf("the scenario is wrong: %w", err)
	}
	pods.stored = world.Stored()
	if o.meter != nil {
		o.meter.stored = pods.stored
	}
	r := &run{Options: o, scene: s, pods: pods, world: world, relaxed: relaxed}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	goal := engine.Goal{Workloads: s.workloads, Until: s.until, Limit: s.limit}
	if !o.Change.Empty() || len(s.applied) > 0 {
		goal.Begin = r.begin
	}
	_, err = r.world.Run(ctx, goal)
	r.warnings = append(r.warnings, r.world.Warnings...)
	if failed := r.world.Person.Err(); failed != nil {
		for _, line := range strings.Split(failed.Error(), "\n") {
			r.warnings = append(r.warnings, "the scenario: "+line)
		}
	}
	if groups := r.world.NodeGroups; groups != nil && groups.Err() != nil {
		r.warnings = append(r.warnings, "the scenario: "+groups.Err().Error())
	}
	return r, err
}

// prepare fills the world with what is there before the change.
func (r *run) prepare(ctx context.Context) error {
	if err := r.world.Load(slices.Concat(r.edited(r.scene.loaded), r.added())...); err != nil {
		return err
	}
	r.scene.release(r.Diagnose)
	if len(r.scene.settled) > 0 {
		if err := r.world.Settle(ctx, r.edited(r.scene.settled)...); err != nil {
			return located(err, r.scene.settled)
		}
	}
	r.holdLoads()
	for _, rs := range r.world.Stored().List(sim.ReplicaSets, "") {
		r.pods.healthy[rs.GetNamespace()+"/"+rs.GetName()] = true
	}
	if r.Change.Empty() && len(r.scene.applied) == 0 {
		for _, target := range r.scene.workloads {
			r.fail(target)
		}
	}
	r.pods.started = true
	return nil
}

// fail makes the new pods of a workload the ones --never-ready is about.
func (r *run) fail(target trace.Ref) {
	resource, _ := sim.Resource(target.Kind)
	if obj, ok := r.world.Stored().Get(resource, target.Namespace, target.Name); ok {
		r.pods.failing(obj, r.owned(obj))
	}
}

func stored(items []manifest.Item) []sim.Object {
	out := make([]sim.Object, len(items))
	for i, item := range items {
		out[i] = item.Object
	}
	return out
}

// begin makes the change.
func (r *run) begin(ctx context.Context, hand engine.Hand) error {
	if r.Change.Empty() {
		return r.beginManifest(ctx, hand)
	}
	for _, target := range r.scene.targets {
		if answer, ok := r.scene.answers[target]; ok {
			if err := r.write(ctx, hand, answer); err != nil {
				return err
			}
			continue
		}
		obj, err := hand.Get(ctx, target)
		if err != nil {
			return err
		}
		live := obj.(manifest.Object)
		result, err := r.Change.Apply(change.Input{Object: live, Owned: r.owned(live), Now: r.scene.start})
		if err != nil {
			return err
		}
		r.warnings = append(r.warnings, result.Warnings...)
		if err := r.write(ctx, hand, result.Object); err != nil {
			return err
		}
	}
	return nil
}

// beginManifest is kubectl apply -f: what is there is merged with, what is not is created.
func (r *run) beginManifest(ctx context.Context, hand engine.Hand) error {
	for _, item := range r.scene.applied {
		obj, err := hand.Get(ctx, ref(item.Object))
		answer, answered := r.scene.answers[ref(item.Object)]
		switch {
		case answered:
			err = r.write(ctx, hand, answer)
		case apierrors.IsNotFound(err):
			err = r.write(ctx, hand, item.Object)
		case err == nil && isWorkload(item.Object):
			var merged manifest.Object
			if merged, err = change.Apply(obj.(manifest.Object), item.Object, r.before(item.Object)); err == nil {
				err = r.write(ctx, hand, merged)
			}
		case err == nil:
			err = r.write(ctx, hand, item.Object)
		}
		if err != nil {
			return &exit.At{Source: item.Source, Err: err}
		}
	}
	return nil
}

func (r *run) write(ctx context.Context, hand engine.Hand, obj manifest.Object) error {
	if r.relaxed.Edit != nil {
		obj = r.relaxed.Edit(obj).(manifest.Object)
	}
	r.pods.failing(obj, r.owned(obj))
	_, err := hand.Apply(ctx, obj)
	return err
}

// before is the manifest of --from that an object was made with.
func (r *run) before(obj manifest.Object) manifest.Object {
	if r.scene.snapshot != nil {
		return nil // the live object's annotation knows
	}
	for _, item := range r.scene.settled {
		if ref(item.Object) == ref(obj) {
			return item.Object
		}
	}
	return nil
}

// owned are the ReplicaSets of a Deployment as stored. It is looked up by name,
// since a manifest does not know its UID.
func (r *run) owned(obj manifest.Object) []*appsv1.ReplicaSet {
	live, ok := r.world.Stored().Get(sim.Deployments, obj.GetNamespace(), obj.GetName())
	if !ok {
		return nil
	}
	return r.world.Owned(live)
}

// located adds the file to an error about one of the items.
func located(err error, items []manifest.Item) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return fmt.Errorf("preparing the world: %w", err)
	}
	for _, item := range items {
		if item.Object.GetName() == status.ErrStatus.Details.Name && item.Object.GetObjectKind().GroupVersionKind().Kind == status.ErrStatus.Details.Kind {
			return &exit.At{Source: item.Source, Err: err}
		}
	}
	return err
}
