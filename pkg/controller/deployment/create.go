package deployment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// createFailed deals with the error of making a ReplicaSet. It returns the
// ReplicaSet when it turns out to be there, or an error to end the pass with.
// The status writes here are best effort: the error to report is that of the creation.
func (p *pass) createFailed(ctx context.Context, wanted *appsv1.ReplicaSet, err error) (*appsv1.ReplicaSet, error) {
	switch {
	case apierrors.IsAlreadyExists(err):
		return p.resolveCollision(ctx, wanted, err)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, err
	}
	message := fmt.Sprintf("Failed to create new replica set %q: %v", wanted.Name, err)
	if rollout.HasProgressDeadline(p.d) {
		p.setProgressing(corev1.ConditionFalse, rollout.ReasonReplicaSetCreateError, message)
		_ = p.putStatus(ctx)
	}
	p.warn(rollout.ReasonReplicaSetCreateError, message)
	return nil, err
}

// resolveCollision takes the ReplicaSet of the same name for the new one if it
// is this Deployment's and has its template: then only the cache was late. If
// not, the hash collides, and counting that gives the next pass another hash.
// A cache that does not have it yet ends the pass with NotFound and counts nothing.
func (p *pass) resolveCollision(ctx context.Context, wanted *appsv1.ReplicaSet, exists error) (*appsv1.ReplicaSet, error) {
	rs, err := p.env.Cache.ReplicaSet(wanted.Namespace, wanted.Name)
	if err != nil {
		return nil, err
	}
	if metav1.IsControlledBy(rs, p.d) && rollout.EqualIgnoreHash(&p.d.Spec.Template, &rs.Spec.Template) {
		return rs, nil
	}
	count := int32(1)
	if p.d.Status.CollisionCount != nil {
		count += *p.d.Status.CollisionCount
	}
	p.d.Status.CollisionCount = &count
	_ = p.putStatus(ctx)
	return nil, exists
}

func (p *pass) deleteSet(ctx context.Context, rs *appsv1.ReplicaSet) error {
	err := p.env.API.DeleteReplicaSet(ctx, rs.Namespace, rs.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		p.env.Trace.Emit(p.refOf(rs), trace.Deleted{Owner: p.ref(), Reason: string(trace.History)})
	}
	return err
}
