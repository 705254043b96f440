package deployment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// Reasons of the Events about rollbacks.
const (
	reasonRollback                  = "DeploymentRollback"
	reasonRollbackRevisionNotFound  = "DeploymentRollbackRevisionNotFound"
	reasonRollbackTemplateUnchanged = "DeploymentRollbackTemplateUnchanged"
)

// rollback gives the Deployment the template of an earlier revision, 0 meaning
// the last one, and takes the annotation that asked for it away in any case.
// The rollout itself follows in later passes.
func (p *pass) rollback(ctx context.Context, revision int64) error {
	sets, err := p.reviseSets(ctx, true)
	if err != nil {
		return err
	}
	if revision == 0 {
		if revision = rollout.LastRevision(sets.All()); revision == 0 {
			p.warn(reasonRollbackRevisionNotFound, "Unable to find last revision.")
			return p.putWithoutRollback(ctx)
		}
	}
	target := rollout.FindRevision(sets.All(), revision)
	switch {
	case target == nil:
		p.warn(reasonRollbackRevisionNotFound, "Unable to find the revision to rollback to.")
		return p.putWithoutRollback(ctx)
	case rollout.EqualIgnoreHash(&p.d.Spec.Template, &target.Spec.Template):
		p.warn(reasonRollbackTemplateUnchanged,
			fmt.Sprintf("The rollback revision contains the same template as current deployment %q", p.d.Name))
		return p.putWithoutRollback(ctx)
	}
	return p.rollbackTo(ctx, target, revision)
}

func (p *pass) rollbackTo(ctx context.Context, target *appsv1.ReplicaSet, revision int64) error {
	p.d = rollout.RolledBack(p.d, target)
	if err := p.putWithoutRollback(ctx); err != nil {
		return err
	}
	p.normal(reasonRollback, fmt.Sprintf("Rolled back deployment %q to revision %d", p.d.Name, revision))
	return nil
}

func (p *pass) putWithoutRollback(ctx context.Context) error {
	p.d = rollout.WithoutRollback(p.d)
	_, err := p.env.API.UpdateDeployment(ctx, p.d.DeepCopy())
	return err
}
