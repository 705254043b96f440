package deployment

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// recreate empties the old ReplicaSets, waits for their pods to end, and only
// then makes the new one, at its full size. Upstream: rolloutRecreate.
func (p *pass) recreate(ctx context.Context, pods map[types.UID][]*corev1.Pod) error {
	sets, err := p.reviseSets(ctx, false)
	if err != nil {
		return err
	}
	emptied, err := p.emptyOld(ctx, sets)
	if err != nil {
		return err
	}
	if emptied {
		return p.syncRolloutStatus(ctx, sets)
	}
	if running := rollout.OldPodsRunning(sets.Old, p.oldPods(sets, pods)); running.Result > 0 {
		p.hold(nil, running)
		return p.syncRolloutStatus(ctx, sets)
	}
	if sets.New == nil {
		if sets, err = p.reviseSets(ctx, true); err != nil {
			return err
		}
	}
	if _, err := p.take(ctx, rollout.FollowDesired(p.d, sets.New)); err != nil {
		return err
	}
	return p.finish(ctx, sets)
}

func (p *pass) emptyOld(ctx context.Context, sets rollout.Sets) (bool, error) {
	steps := rollout.PlanRecreate(rollout.Active(sets.Old))
	for _, step := range steps {
		if _, err := p.take(ctx, step); err != nil {
			return false, err
		}
	}
	return len(steps) > 0, nil
}

// podsBySet is the pods of each owned ReplicaSet, read once at the start: the
// writes of the pass take time in which the cache moves on.
// Upstream: getPodMapForDeployment.
func (p *pass) podsBySet() map[types.UID][]*corev1.Pod {
	pods := make(map[types.UID][]*corev1.Pod, len(p.owned))
	for _, rs := range p.owned {
		pods[rs.UID] = slices.Clone(p.env.Cache.PodsOf(rs.Namespace, rs.Name, rs.UID))
	}
	return pods
}

// oldPods are those of every owned ReplicaSet but the new one.
func (p *pass) oldPods(sets rollout.Sets, pods map[types.UID][]*corev1.Pod) []*corev1.Pod {
	var old []*corev1.Pod
	for _, rs := range p.owned {
		if sets.New == nil || sets.New.UID != rs.UID {
			old = append(old, pods[rs.UID]...)
		}
	}
	return old
}
