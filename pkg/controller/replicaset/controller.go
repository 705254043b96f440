// Package replicaset is the ReplicaSet controller: it keeps as many pods as a
// ReplicaSet wants and publishes their counts. It follows upstream's
// pkg/controller/replicaset pass by pass and write by write.
package replicaset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/claim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// Controller reconciles ReplicaSets. Its memory is the pods it expects to see
// created and deleted, the versions it wrote, and what it saw in each pod last.
// It may be used by several passes and observations at once.
type Controller struct {
	version      rollout.Version
	expectations *expectations
	census       *census
	writes       *writes // nil in releases that do not wait to read their own writes
	selectors    rollout.Selectors
}

var _ engine.Controller = (*Controller)(nil)

// New makes a controller that decides as release v does.
func New(v rollout.Version) *Controller {
	c := &Controller{version: v, expectations: newExpectations(), census: newCensus()}
	if v.ReadsOwnWrites() {
		c.writes = newWrites()
	}
	return c
}

// Spec is the controller and how kube-controller-manager runs it by default:
// 5 workers, a client limit of 20 requests a second with a burst of 30.
func Spec(v rollout.Version) engine.Spec {
	return engine.Spec{
		Name:       trace.ActorReplicaSet,
		Component:  "replicaset-controller",
		Controller: New(v),
		Watches:    []string{"replicasets", "pods"},
		Workers:    5,
		QPS:        20,
		Burst:      30,
	}
}

// Retry is always true: a ReplicaSet whose pass failed is tried again without
// limit. (replicaset processNextWorkItem)
func (c *Controller) Retry(error, int) bool { return true }

// Sync is one pass over one ReplicaSet. Errors are those of its writes, a
// *StaleReadError while the cache lags behind them, or those of claiming pods.
// (replicaset syncReplicaSet)
func (c *Controller) Sync(ctx context.Context, env *engine.Env, key engine.Key) error {
	if err := c.writes.seen(env.Cache, key); err != nil {
		return err
	}
	rs, err := env.Cache.ReplicaSet(key.Namespace, key.Name)
	switch {
	case err == nil:
	case apierrors.IsNotFound(err):
		c.writes.forget(key, "")
		c.expectations.forget(key)
		c.census.forget(key)
		return nil
	default:
		return err
	}
	// Before the pods are listed: what is seen after this is in the list as well.
	seen := c.expectations.state(key, env.Clock.Now())
	selector, err := c.parseSelector(rs.Spec.Selector)
	if err != nil {
		return nil // no retry would mend it
	}
	pods := c.pods(env.Cache, rs, selector)
	if !pods.mine {
		if pods.active, err = c.claim(ctx, env, rs, selector, pods.active); err != nil {
			return err
		}
	}
	return c.reconcile(ctx, env, rs, pods, seen)
}

// reconcile is the pass once its pods are known. The status it publishes counts
// the pods as they were before it created or deleted any.
func (c *Controller) reconcile(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, pods podsOf, seen expected) error {
	var failure error
	if rs.DeletionTimestamp == nil {
		failure = c.manageReplicas(ctx, env, rs, pods.active, seen)
	}
	now := env.Clock.Now()
	status := c.version.ReplicaSetStatusOf(rs, pods.count(c.version, rs, now), pods.terminating, failure, now)
	updated, err := updateStatus(ctx, env, rs, status)
	if err != nil {
		return err
	}
	c.writes.wroteReplicaSet(keyOf(rs), rs.UID, updated.ResourceVersion)
	if failure != nil {
		return failure
	}
	c.planAvailabilityCheck(env, updated, pods.active, now)
	return nil
}

// podsOf is the pods of one pass.
type podsOf struct {
	active      []*corev1.Pod // the ReplicaSet's, and before they are claimed nobody's
	terminating int32
	mine        bool       // all active ones are the ReplicaSet's without a write
	sights      []sighting // what was seen of its own, active or not
	// counts are those of its own, when they do not depend on the time.
	counts rollout.PodCounts
}

// pods returns the active pods that are the ReplicaSet's or nobody's, and
// counts its terminating ones.
func (c *Controller) pods(cache engine.Cache, rs *appsv1.ReplicaSet, selector labels.Selector) podsOf {
	set := c.census.of(keyOf(rs))
	sights := set.look(rs, selector, cache.PodsOf(rs.Namespace, rs.Name, rs.UID))
	out := podsOf{
		active: set.pick(), terminating: set.total.terminating, mine: set.total.unclaimed == 0,
		sights: sights, counts: set.total.counts,
	}
	for _, pod := range cache.OrphanPods(rs.Namespace) {
		if rollout.IsPodActive(pod) {
			out.active, out.mine = append(out.active, pod), false
		}
	}
	return out
}

// count counts the pods the ReplicaSet has claimed as its status does.
func (p podsOf) count(v rollout.Version, rs *appsv1.ReplicaSet, now time.Time) (counts rollout.PodCounts) {
	switch {
	case !p.mine:
		for _, pod := range p.active {
			v.Count(&counts, rollout.LookAt(rs, pod), rs.Spec.MinReadySeconds, now)
		}
		return counts
	case rs.Spec.MinReadySeconds == 0:
		return p.counts
	}
	for i := range p.sights {
		if s := &p.sights[i]; s.active {
			v.Count(&counts, s.looks, rs.Spec.MinReadySeconds, now)
		}
	}
	return counts
}

// claim adopts and releases pods; it returns those that are the ReplicaSet's.
func (c *Controller) claim(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, selector labels.Selector, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	claimer := claim.Claimer[*corev1.Pod]{
		Owner:     rs,
		OwnerKind: kind,
		Kind:      "Pod",
		Selector:  selector,
		Fresh: func(ctx context.Context) (metav1.Object, error) {
			return env.API.GetReplicaSet(ctx, rs.Namespace, rs.Name)
		},
		Patch: func(ctx context.Context, pod *corev1.Pod, data []byte) error {
			return c.patchPod(ctx, env, pod, data)
		},
		Trace: env.Trace,
	}
	return claimer.Claim(ctx, pods)
}

// patchPod notes the version written for the controller the pod has afterwards,
// so that a release leaves nothing to wait for.
func (c *Controller) patchPod(ctx context.Context, env *engine.Env, pod *corev1.Pod, data []byte) error {
	patched, err := env.API.PatchPod(ctx, pod.Namespace, pod.Name, types.StrategicMergePatchType, data)
	if err != nil {
		return err
	}
	if owner := metav1.GetControllerOfNoCopy(patched); owner != nil {
		c.writes.wrotePod(engine.Key{Namespace: patched.Namespace, Name: owner.Name}, owner.UID, patched.ResourceVersion)
	}
	return nil
}

func keyOf(o metav1.Object) engine.Key {
	return engine.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func ref(rs *appsv1.ReplicaSet) trace.Ref {
	return trace.Ref{Kind: "ReplicaSet", Namespace: rs.Namespace, Name: rs.Name}
}
