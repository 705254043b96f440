package deployment

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// syncStatusOnly publishes the status and sizes nothing.
func (p *pass) syncStatusOnly(ctx context.Context) error {
	sets, err := p.reviseSets(ctx, false)
	if err != nil {
		return err
	}
	return p.syncStatus(ctx, sets)
}

// syncScale sizes the ReplicaSets without rolling on: on scaling events and
// while paused. Upstream: sync.
func (p *pass) syncScale(ctx context.Context) error {
	sets, err := p.reviseSets(ctx, false)
	if err != nil {
		return err
	}
	if err := p.scale(ctx, sets); err != nil {
		return err
	}
	if _, rollback := rollout.RollbackTo(p.d); p.d.Spec.Paused && !rollback {
		// Newest first, as upstream's look for the latest leaves them: it matters
		// where unreadable revisions keep them from being ordered.
		if err := p.cleanup(ctx, rollout.ByNewest(sets.Old)); err != nil {
			return err
		}
	}
	return p.syncStatus(ctx, sets)
}

// isScalingEvent revises the sets first, with its writes; should those be in
// vain, the second revision of the pass tries them again.
func (p *pass) isScalingEvent(ctx context.Context) (bool, error) {
	sets, err := p.reviseSets(ctx, false)
	if err != nil {
		return false, err
	}
	return rollout.IsScalingEvent(p.d, sets, p.version), nil
}

// reviseSets splits the owned ReplicaSets into new and old and brings the
// revisions and annotations of the new one and of the Deployment up to date,
// making the new one if there is none and create is true.
// Upstream: getAllReplicaSetsAndSyncRevision, getNewReplicaSet.
func (p *pass) reviseSets(ctx context.Context, create bool) (rollout.Sets, error) {
	sets := p.likeness.Split(p.d, p.owned)
	revision := rollout.NextRevision(sets.Old)
	var err error
	switch {
	case sets.New != nil:
		sets.New, err = p.reviseNew(ctx, sets.New, revision)
	case create:
		sets.New, err = p.createNew(ctx, sets.Old, revision)
	}
	if err != nil {
		return rollout.Sets{}, err
	}
	return sets, nil
}

// reviseNew writes either the ReplicaSet or the Deployment, the latter in a
// later pass if both need it.
func (p *pass) reviseNew(ctx context.Context, existing *appsv1.ReplicaSet, revision int64) (*appsv1.ReplicaSet, error) {
	rs := existing
	annotations, changed := rollout.NewReplicaSetAnnotations(p.d, rs, revision, true)
	if !rollout.SameLabels(annotations, rs.Annotations) {
		rs = withAnnotations(rs, annotations)
	}
	if changed || rs.Spec.MinReadySeconds != p.d.Spec.MinReadySeconds {
		written := withAnnotations(rs, annotations)
		written.Spec.MinReadySeconds = p.d.Spec.MinReadySeconds
		return p.env.API.UpdateReplicaSet(ctx, written)
	}
	write := p.setRevision(rs.Annotations[rollout.RevisionAnnotation])
	if rollout.HasProgressDeadline(p.d) && rollout.Condition(p.d.Status.Conditions, appsv1.DeploymentProgressing) == nil {
		p.setProgressing(corev1.ConditionTrue, rollout.ReasonFoundNewReplicaSet, fmt.Sprintf("Found new replica set %q", rs.Name))
		write = true
	}
	if write {
		if err := p.putStatus(ctx); err != nil {
			return nil, err
		}
	}
	return rs, nil
}

// withAnnotations is a copy of a ReplicaSet, shared below its fields, with other annotations.
func withAnnotations(rs *appsv1.ReplicaSet, annotations map[string]string) *appsv1.ReplicaSet {
	out := *rs
	out.Annotations = annotations
	return &out
}

// setRevision puts the revision annotation on d and says whether it differed.
func (p *pass) setRevision(revision string) bool {
	if p.d.Annotations[rollout.RevisionAnnotation] == revision {
		return false
	}
	annotations := make(map[string]string, len(p.d.Annotations)+1)
	maps.Copy(annotations, p.d.Annotations)
	annotations[rollout.RevisionAnnotation] = revision
	p.d.Annotations = annotations
	return true
}

func (p *pass) setProgressing(status corev1.ConditionStatus, reason, message string) {
	c := rollout.NewProgressing(status, reason, message, p.env.Clock.Now())
	p.d.Status.Conditions = rollout.SetCondition(p.d.Status.Conditions, c)
}

// createNew makes the new ReplicaSet, or takes the one that is already there
// though the cache did not show it to this Deployment in time.
func (p *pass) createNew(ctx context.Context, old []*appsv1.ReplicaSet, revision int64) (*appsv1.ReplicaSet, error) {
	wanted, budget, err := rollout.NewReplicaSet(p.d, old, revision, p.version)
	if err != nil {
		return nil, err
	}
	p.decide(wanted, budget)
	created, err := p.env.API.CreateReplicaSet(ctx, wanted)
	existed := false
	if err != nil {
		if created, err = p.createFailed(ctx, wanted, err); err != nil {
			return nil, err
		}
		existed = true
	} else if size := rollout.Size(wanted); size > 0 {
		p.normal(rollout.ReasonScaling, rollout.CreationMessage(p.version, created.Name, size))
	}
	write := p.setRevision(strconv.FormatInt(revision, 10))
	if !existed && rollout.HasProgressDeadline(p.d) {
		p.setProgressing(corev1.ConditionTrue, rollout.ReasonNewReplicaSetCreated, fmt.Sprintf("Created new replica set %q", created.Name))
		write = true
	}
	if write {
		err = p.putStatus(ctx)
	}
	return created, err
}

// scale sizes the ReplicaSets for spec.replicas; the first failure ends it.
func (p *pass) scale(ctx context.Context, sets rollout.Sets) error {
	plan := rollout.PlanScaling(p.d, sets, p.version)
	if left, waits := rollout.PausedRollout(p.d, sets); p.d.Spec.Paused && waits {
		p.hold(nil, left)
	} else if !p.d.Spec.Paused && plan.Wedged != nil {
		p.hold(plan.Wedged.ReplicaSet, plan.Wedged.Budget)
	}
	for _, step := range plan.Steps {
		if _, err := p.take(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// take gives a ReplicaSet its size and notes on it what it was sized for, in
// one write. It returns the server's answer, or the ReplicaSet as it is where
// there is nothing to write. Upstream: scaleReplicaSet.
func (p *pass) take(ctx context.Context, step rollout.Step) (*appsv1.ReplicaSet, error) {
	from := rollout.Size(step.ReplicaSet)
	annotations, outdated := rollout.SizedFor(p.d, step.ReplicaSet.Annotations)
	if from == step.To && !(step.Refresh && outdated) {
		return step.ReplicaSet, nil
	}
	p.decide(step.ReplicaSet, step.Budget)
	rs := *step.ReplicaSet // its pods' template stays shared: only fields are replaced
	rs.Spec.Replicas = &step.To
	if outdated {
		rs.Annotations = annotations
	}
	updated, err := p.env.API.UpdateReplicaSet(ctx, &rs)
	if err != nil {
		return nil, err
	}
	if from != step.To {
		p.normal(rollout.ReasonScaling, rollout.ScalingMessage(p.version, updated.Name, from, step.To))
	}
	return updated, nil
}

// cleanup deletes old ReplicaSets beyond revisionHistoryLimit; the first
// failure other than NotFound ends it. Upstream: cleanupDeployment.
func (p *pass) cleanup(ctx context.Context, old []*appsv1.ReplicaSet) error {
	victims, budget := rollout.PlanHistory(p.d, old)
	if len(victims) > 0 {
		p.decide(nil, budget)
	}
	for _, rs := range victims {
		if err := p.deleteSet(ctx, rs); err != nil {
			return err
		}
	}
	return nil
}

// syncStatus publishes the counts and availability, but neither Progressing nor
// ReplicaFailure. Upstream: syncDeploymentStatus.
func (p *pass) syncStatus(ctx context.Context, sets rollout.Sets) error {
	status := rollout.DeploymentStatus(p.d, sets, p.version, p.env.Clock.Now())
	if !rollout.DeploymentStatusChanged(p.d, status) {
		return nil
	}
	p.d.Status = status
	return p.putStatus(ctx)
}
