package deployment

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// Observe wakes the Deployments a change may concern. Changes of Deployments
// wake them always; ReplicaSets wake their owner or, having none, whoever might
// adopt them; pods matter only when they are gone.
func (c *Controller) Observe(env *engine.Env, change engine.Change) {
	o := observer{version: c.version, env: env}
	switch obj := change.New.(type) {
	case *appsv1.Deployment:
		o.wake(obj)
	case *appsv1.ReplicaSet:
		old, _ := change.Old.(*appsv1.ReplicaSet)
		switch {
		case change.Verb == engine.Deleted:
			o.replicaSetDeleted(obj)
		case change.Verb == engine.Modified && old != nil:
			o.replicaSetUpdated(old, obj)
		default:
			o.replicaSetAdded(obj)
		}
	case *corev1.Pod:
		if change.Verb == engine.Deleted {
			o.podDeleted(obj)
		}
	}
}

type observer struct {
	version rollout.Version
	env     *engine.Env
}

func (o observer) wake(d *appsv1.Deployment) {
	o.env.Queue.Add(engine.Key{Namespace: d.Namespace, Name: d.Name})
}

// wakeOwner wakes the Deployment a controller reference names, if the cache has it.
func (o observer) wakeOwner(namespace string, ref *metav1.OwnerReference) {
	if d := o.resolve(namespace, ref); d != nil {
		o.wake(d)
	}
}

func (o observer) replicaSetAdded(rs *appsv1.ReplicaSet) {
	switch ref := metav1.GetControllerOfNoCopy(rs); {
	case rs.DeletionTimestamp != nil: // first seen after a restart, say
		o.replicaSetDeleted(rs)
	case ref != nil:
		o.wakeOwner(rs.Namespace, ref)
	default:
		o.wakeMatching(rs)
	}
}

func (o observer) replicaSetUpdated(old, rs *appsv1.ReplicaSet) {
	if rs.ResourceVersion == old.ResourceVersion {
		return // a resync of the cache
	}
	ref, oldRef := metav1.GetControllerOfNoCopy(rs), metav1.GetControllerOfNoCopy(old)
	refChanged := !reflect.DeepEqual(ref, oldRef)
	if refChanged && oldRef != nil {
		o.wakeOwner(old.Namespace, oldRef)
	}
	switch {
	case ref != nil:
		o.wakeOwner(rs.Namespace, ref)
	case refChanged || !reflect.DeepEqual(rs.Labels, old.Labels):
		o.wakeMatching(rs)
	}
}

func (o observer) replicaSetDeleted(rs *appsv1.ReplicaSet) {
	if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
		o.wakeOwner(rs.Namespace, ref)
	}
}

// podDeleted wakes a Recreate Deployment, which may be waiting for old pods to go.
func (o observer) podDeleted(pod *corev1.Pod) {
	d := o.deploymentOf(pod)
	if d == nil || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return
	}
	if o.version.RecreateWakesOnEveryPod() || !o.hasPods(d) {
		o.wake(d)
	}
}

// hasPods says whether any ReplicaSet of d has a pod left. The releases that
// ask list ReplicaSets from the API server; here the cache answers.
func (o observer) hasPods(d *appsv1.Deployment) bool {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return true // those releases wake nothing then
	}
	for _, rs := range o.env.Cache.ReplicaSetsOf(d.UID) {
		if rs.Namespace == d.Namespace && selector.Matches(labels.Set(rs.Labels)) &&
			len(o.env.Cache.PodsOf(rs.Namespace, rs.Name, rs.UID)) > 0 {
			return true
		}
	}
	return false
}

// deploymentOf follows a pod's controller reference to its ReplicaSet and on to the Deployment.
func (o observer) deploymentOf(pod *corev1.Pod) *appsv1.Deployment {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != "ReplicaSet" {
		return nil
	}
	rs, err := o.env.Cache.ReplicaSet(pod.Namespace, ref.Name)
	if err != nil || rs.UID != ref.UID {
		return nil
	}
	return o.resolve(rs.Namespace, metav1.GetControllerOfNoCopy(rs))
}

// resolve finds the Deployment a controller reference names; its group is not
// looked at. Upstream: resolveControllerRef.
func (o observer) resolve(namespace string, ref *metav1.OwnerReference) *appsv1.Deployment {
	if ref == nil || ref.Kind != rollout.DeploymentKind.Kind {
		return nil
	}
	d, err := o.env.Cache.Deployment(namespace, ref.Name)
	if err != nil || d.UID != ref.UID {
		return nil
	}
	return d
}

// wakeMatching wakes every Deployment whose selector matches an orphan.
// Upstream: GetDeploymentsForReplicaSet.
func (o observer) wakeMatching(rs *appsv1.ReplicaSet) {
	if len(rs.Labels) == 0 {
		return
	}
	var matching []*appsv1.Deployment
	for _, d := range o.env.Cache.Deployments(rs.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		switch {
		case err != nil && !o.version.SkipsInvalidSelectors():
			return
		case err == nil && !selector.Empty() && selector.Matches(labels.Set(rs.Labels)):
			matching = append(matching, d)
		}
	}
	for _, d := range matching {
		o.wake(d)
	}
}
