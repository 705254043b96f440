package deployment

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// syncRolloutStatus publishes the status during a rollout, with its progress.
// If nothing changed it sees to it that the progress deadline is noticed.
func (p *pass) syncRolloutStatus(ctx context.Context, sets rollout.Sets) error {
	status := rollout.RolloutStatus(p.d, sets, p.version, p.env.Clock.Now())
	if !rollout.DeploymentStatusChanged(p.d, status) {
		p.requeueStuck(status)
		return nil
	}
	p.d.Status = status
	return p.putStatus(ctx)
}

// requeueStuck looks again after the progress deadline, or again and again
// within its last second. Upstream: requeueStuckDeployment.
func (p *pass) requeueStuck(status appsv1.DeploymentStatus) {
	again := rollout.ProgressRecheck(p.d, status, p.env.Clock.Now())
	if !again.Needed {
		return
	}
	p.env.Trace.Emit(p.ref(), trace.Requeued{After: again.After, Why: "ProgressDeadline"})
	key := types.NamespacedName{Namespace: p.d.Namespace, Name: p.d.Name}
	if again.Soon {
		p.env.Queue.AddRateLimited(key)
		return
	}
	p.env.Queue.AddAfter(key, again.After)
}

// checkPaused marks the condition Progressing of a Deployment just paused or
// resumed. The pass goes on after the write, whose new resourceVersion it does
// not know, so that its next write of the Deployment is a conflict.
// Upstream: checkPausedConditions.
func (p *pass) checkPaused(ctx context.Context) error {
	c := rollout.PauseCondition(p.d, p.env.Clock.Now())
	if c == nil {
		return nil
	}
	p.d.Status.Conditions = rollout.SetCondition(p.d.Status.Conditions, *c)
	return p.putStatus(ctx)
}
