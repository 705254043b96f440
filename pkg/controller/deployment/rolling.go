package deployment

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// rollingUpdate makes one step: it sizes the new ReplicaSet or else the old
// ones. The status it publishes is of the ReplicaSets before that step.
// Upstream: rolloutRolling.
func (p *pass) rollingUpdate(ctx context.Context) error {
	sets, err := p.reviseSets(ctx, true)
	if err != nil {
		return err
	}
	moved, err := p.reconcileNew(ctx, sets)
	if err != nil {
		return err
	}
	if moved || p.reconcileOld(ctx, sets) {
		return p.syncRolloutStatus(ctx, sets)
	}
	return p.finish(ctx, sets)
}

// finish ends a pass that sized nothing: history goes once the status in the
// cache says the rollout is complete.
func (p *pass) finish(ctx context.Context, sets rollout.Sets) error {
	if rollout.Complete(p.d, p.d.Status) {
		if err := p.cleanup(ctx, sets.Old); err != nil {
			return err
		}
	}
	return p.syncRolloutStatus(ctx, sets)
}

// reconcileNew grows the new ReplicaSet as far as surge allows, or shrinks it
// to the desired size. Upstream: reconcileNewReplicaSet.
func (p *pass) reconcileNew(ctx context.Context, sets rollout.Sets) (bool, error) {
	desired := rollout.Desired(p.d)
	size := rollout.Size(sets.New)
	if size == desired {
		return false, nil
	}
	if size > desired {
		_, err := p.take(ctx, rollout.FollowDesired(p.d, sets.New))
		return err == nil, err
	}
	to, budget, err := rollout.NewReplicaSetSize(p.d, sets.All(), sets.New)
	if err != nil {
		return false, err
	}
	if to == size {
		p.hold(sets.New, budget)
		return false, nil
	}
	_, err = p.take(ctx, rollout.Step{ReplicaSet: sets.New, To: to, Budget: budget})
	return err == nil, err
}

// reconcileOld shrinks old ReplicaSets: pods that are not available first, then
// what availability can spare. It swallows errors, as upstream does: whatever
// went wrong, the pass goes on as if nothing had moved.
// Upstream: reconcileOldReplicaSets.
func (p *pass) reconcileOld(ctx context.Context, sets rollout.Sets) bool {
	old := rollout.Active(sets.Old)
	if len(old) == 0 {
		return false
	}
	surplus := rollout.Surplus(p.d, sets)
	if surplus.Result <= 0 {
		p.hold(nil, surplus)
		return false
	}
	unhealthy, impossible := rollout.PlanUnhealthy(old, surplus.Result)
	if len(unhealthy) > 0 {
		p.decide(nil, surplus)
	}
	old, ok := p.shrink(ctx, old, unhealthy)
	if ok && impossible != nil {
		p.hold(impossible.ReplicaSet, impossible.Budget)
	}
	if !ok || impossible != nil {
		return false
	}
	spare := rollout.Spare(p.d, sets.New, old)
	steps := rollout.PlanAvailable(old, spare)
	switch {
	case len(steps) > 0 && len(unhealthy) == 0:
		p.decide(nil, surplus)
	case len(steps) == 0 && len(unhealthy) == 0:
		p.hold(nil, spare)
	}
	if _, ok := p.shrink(ctx, old, steps); !ok {
		return false
	}
	return len(unhealthy)+len(steps) > 0
}

// shrink takes the steps and returns the ReplicaSets as the server answered,
// oldest first; false when a write failed.
func (p *pass) shrink(ctx context.Context, sets []*appsv1.ReplicaSet, steps []rollout.Step) ([]*appsv1.ReplicaSet, bool) {
	sets = rollout.ByCreation(sets)
	for _, step := range steps {
		updated, err := p.take(ctx, step)
		if err != nil {
			return nil, false
		}
		for i := range sets {
			if sets[i] == step.ReplicaSet {
				sets[i] = updated
			}
		}
	}
	return sets, true
}
