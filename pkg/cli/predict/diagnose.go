package predict

import (
	"context"
	"slices"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/diagnosis"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// rememberable is how many objects of a cluster are kept for playing its change
// again; the world of more is too large for that anyway.
const rememberable = 5000

// diagnose finds out what holds those of the plan's workloads that do not
// complete or wait long.
func (r *run) diagnose(ctx context.Context, plan *v1alpha1.RolloutPlan) error {
	if !slices.ContainsFunc(plan.Status.Workloads, func(w v1alpha1.WorkloadStatus) bool { return diagnosis.Worthy(&w) }) {
		return nil
	}
	c := diagnosis.Case{Plan: plan, Faulty: len(r.scene.story.Faults) > 0, Whole: !r.scene.released}
	for _, resource := range []string{sim.Deployments, sim.ReplicaSets, sim.Nodes, sim.PersistentVolumeClaims, sim.PersistentVolumes} {
		for _, obj := range r.world.Stored().List(resource, "") {
			c.Objects = append(c.Objects, obj)
		}
	}
	c.Replay = func(ctx context.Context, relaxed diagnosis.Relaxed) (*v1alpha1.RolloutPlan, error) {
		scene := *r.scene
		scene.facts = slices.Clip(scene.facts)
		log := trace.NewLog()
		log.Depth = trace.Pods
		if _, err := simulateIn(ctx, r.Options, &scene, log, &relaxed); err != nil {
			return nil, err
		}
		return timeline.NewPlan(plan.Spec, scene.worthTelling(log.Events())), nil
	}
	return diagnosis.Explain(ctx, c)
}

// edited are objects as they come into a relaxed world.
func (r *run) edited(items []manifest.Item) []sim.Object {
	out := stored(items)
	if r.relaxed.Edit != nil {
		for i := range out {
			out[i] = r.relaxed.Edit(out[i])
		}
	}
	return out
}

// added are the nodes that only a relaxed world has.
func (r *run) added() []sim.Object {
	out := make([]sim.Object, len(r.relaxed.Nodes))
	for i, node := range r.relaxed.Nodes {
		out[i] = node
	}
	return out
}
