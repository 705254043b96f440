// Package deployment is the Deployment controller: it makes, sizes and deletes
// the ReplicaSets of a Deployment and publishes its status. Its files are named
// after those of upstream's pkg/controller/deployment; the arithmetic is in
// pkg/rollout.
package deployment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/claim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// maxRetries is how often in a row a failing key is tried again; with the
// queue's backoff that is about 164 s.
const maxRetries = 15

// Controller is the Deployment controller of one Kubernetes release. Each pass
// starts from the cache; all it remembers is what it read of templates and
// selectors, which stays true.
type Controller struct {
	version rollout.Version
	memory
}

// memory spares a pass what earlier ones found out.
type memory struct {
	likeness  *rollout.Likeness
	selectors *rollout.Selectors
}

var _ engine.Controller = (*Controller)(nil)

// New is the Deployment controller as of a release.
func New(v rollout.Version) *Controller {
	return &Controller{v, memory{&rollout.Likeness{}, &rollout.Selectors{}}}
}

// Spec is the controller as kube-controller-manager runs it.
func Spec(v rollout.Version) engine.Spec {
	return engine.Spec{
		Name:       trace.ActorDeployment,
		Component:  "deployment-controller",
		Controller: New(v),
		Watches:    []string{"deployments", "replicasets", "pods"},
		Workers:    5,
		QPS:        20,
		Burst:      30,
	}
}

// Retry gives a key up after 15 failures in a row, and at once in a namespace
// that is going away. Upstream: handleErr.
func (c *Controller) Retry(err error, requeues int) bool {
	return !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && requeues < maxRetries
}

// Sync is one pass over one Deployment. Upstream: syncDeployment.
func (c *Controller) Sync(ctx context.Context, env *engine.Env, key engine.Key) error {
	cached, err := env.Cache.Deployment(key.Namespace, key.Name)
	switch {
	case err == nil:
	case apierrors.IsNotFound(err):
		return nil
	default:
		return err
	}
	own := *cached
	p := &pass{version: c.version, memory: c.memory, env: env, d: &own}
	return p.run(ctx)
}

// pass is one pass over one Deployment.
type pass struct {
	memory
	version rollout.Version
	env     *engine.Env
	// d is the pass's own copy and takes up its edits to status and annotations,
	// as new values: what it points to belongs to the cache.
	// Its resourceVersion stays as the cache had it: a second write of d in one
	// pass is a conflict, as upstream's is.
	d *appsv1.Deployment
	// owned are the ReplicaSets claimed at the start, from the cache. Writes of
	// the pass do not show in them.
	owned []*appsv1.ReplicaSet
}

func (p *pass) run(ctx context.Context) error {
	if s := p.d.Spec.Selector; s != nil && s.MatchLabels == nil && s.MatchExpressions == nil {
		p.refuseSelector(ctx)
		return nil
	}
	var err error
	if p.owned, err = p.claimReplicaSets(ctx); err != nil {
		return err
	}
	if p.d.DeletionTimestamp != nil {
		return p.syncStatusOnly(ctx)
	}
	if err := p.checkPaused(ctx); err != nil {
		return err
	}
	if p.d.Spec.Paused {
		return p.syncScale(ctx)
	}
	// Rolling back comes before all else, so that no pass acts on the template
	// that is about to be replaced.
	if revision, asked := rollout.RollbackTo(p.d); asked {
		return p.rollback(ctx, revision)
	}
	scaling, err := p.isScalingEvent(ctx)
	if err != nil {
		return err
	}
	if scaling {
		return p.syncScale(ctx)
	}
	return p.rollOut(ctx)
}

func (p *pass) rollOut(ctx context.Context) error {
	switch strategy := p.d.Spec.Strategy.Type; strategy {
	case appsv1.RecreateDeploymentStrategyType:
		return p.recreate(ctx, p.podsBySet())
	case appsv1.RollingUpdateDeploymentStrategyType:
		return p.rollingUpdate(ctx)
	default:
		return fmt.Errorf("unexpected deployment strategy type: %s", strategy)
	}
}

// refuseSelector says that a Deployment selecting all pods does nothing.
func (p *pass) refuseSelector(ctx context.Context) {
	p.warn("SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.")
	if p.d.Status.ObservedGeneration < p.d.Generation {
		p.d.Status.ObservedGeneration = p.d.Generation
		_ = p.putStatus(ctx) // as upstream: the next change of the Deployment writes it
	}
}

// claimReplicaSets finds, adopts and releases ReplicaSets.
// Upstream: getReplicaSetsForDeployment.
func (p *pass) claimReplicaSets(ctx context.Context) ([]*appsv1.ReplicaSet, error) {
	candidates := p.env.Cache.ReplicaSets(p.d.Namespace)
	selector, err := p.selectors.Read(p.d.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("deployment %s/%s has invalid label selector: %v", p.d.Namespace, p.d.Name, err)
	}
	claimer := claim.Claimer[*appsv1.ReplicaSet]{
		Owner:     p.d,
		OwnerKind: rollout.DeploymentKind,
		Kind:      "ReplicaSet",
		Selector:  selector,
		Fresh: func(ctx context.Context) (metav1.Object, error) {
			return p.env.API.GetDeployment(ctx, p.d.Namespace, p.d.Name)
		},
		Patch: func(ctx context.Context, rs *appsv1.ReplicaSet, data []byte) error {
			_, err := p.env.API.PatchReplicaSet(ctx, rs.Namespace, rs.Name, types.StrategicMergePatchType, data)
			return err
		},
		Trace: p.env.Trace,
	}
	return claimer.Claim(ctx, candidates)
}

// putStatus writes d's status, and its annotations, which the status endpoint
// of Deployments takes too.
func (p *pass) putStatus(ctx context.Context) error {
	written := *p.d // the pass goes on with its own
	_, err := p.env.API.UpdateDeploymentStatus(ctx, &written)
	return err
}

func (p *pass) normal(reason, message string) {
	p.env.Events.Event(p.d, corev1.EventTypeNormal, reason, message)
}

func (p *pass) warn(reason, message string) {
	p.env.Events.Event(p.d, corev1.EventTypeWarning, reason, message)
}

// hold says that nothing is done with a ReplicaSet or, for nil, with the Deployment as a whole.
func (p *pass) hold(rs *appsv1.ReplicaSet, b rollout.Budget) {
	p.env.Trace.Emit(p.refOf(rs), b.Held())
}

// decide says why the writes that follow are made.
func (p *pass) decide(rs *appsv1.ReplicaSet, b rollout.Budget) {
	p.env.Trace.Emit(p.refOf(rs), b.Budgeted())
}

func (p *pass) ref() trace.Ref {
	return trace.Ref{Kind: "Deployment", Namespace: p.d.Namespace, Name: p.d.Name}
}

func (p *pass) refOf(rs *appsv1.ReplicaSet) trace.Ref {
	if rs == nil {
		return p.ref()
	}
	return trace.Ref{Kind: "ReplicaSet", Namespace: rs.Namespace, Name: rs.Name}
}
