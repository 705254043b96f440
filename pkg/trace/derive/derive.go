// Package derive reads off two versions of an object what happened between
// them, in the vocabulary of rollouts. A simulated server reads it off its
// writes, a watcher of a real one off its own writes and what its watches
// deliver; the facts are the same.
package derive

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Emit takes one fact about the object at hand.
type Emit func(trace.Detail)

// Owner is the controller an object names; the zero Ref when it names none.
func Owner(obj metav1.Object) trace.Ref {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return trace.Ref{}
	}
	return trace.Ref{Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name}
}

// Scaled says how a ReplicaSet's size moved by the rule of an arithmetic; false
// when it did not. old is nil for a set that was made.
func Scaled(rs, old *appsv1.ReplicaSet, why trace.Rule) (trace.Scaled, bool) {
	s := trace.Scaled{To: *rs.Spec.Replicas, Owner: Owner(rs), Why: why}
	if old == nil {
		s.Created, s.Revision, s.Hash = true, rs.Annotations[rollout.RevisionAnnotation], rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		return s, true
	}
	s.From = *old.Spec.Replicas
	return s, s.From != s.To
}

// Deployment emits what a write changed in a Deployment. old is nil for one
// that was made; owned lists the ReplicaSets it controls now.
func Deployment(d, old *appsv1.Deployment, owned func() []*appsv1.ReplicaSet, emit Emit) {
	if old == nil || d.Generation != old.Generation || d.Annotations[rollout.RevisionAnnotation] != old.Annotations[rollout.RevisionAnnotation] {
		emit(Specified(d, owned()))
	}
	if old == nil {
		return
	}
	if is, was := deploymentCounts(d), deploymentCounts(old); !sameStatus(is, was) {
		emit(is)
	}
	conditions(d.Status.Conditions, old.Status.Conditions, deploymentCondition, emit)
}

// ReplicaSet emits what a write changed in a ReplicaSet but its size; see Scaled.
func ReplicaSet(rs, old *appsv1.ReplicaSet, emit Emit) {
	if metav1.GetControllerOfNoCopy(rs) == nil && (old == nil || rs.Generation != old.Generation) {
		emit(SpecifiedReplicaSet(rs))
	}
	if old == nil {
		return
	}
	handed(rs, old, emit)
	if is, was := replicaSetCounts(rs), replicaSetCounts(old); !sameStatus(is, was) {
		emit(is)
	}
	conditions(rs.Status.Conditions, old.Status.Conditions, replicaSetCondition, emit)
}

// handed emits that a write put one controller in another's place. Only people
// do that: controllers let go first, and tell of both steps themselves.
func handed(obj, old metav1.Object, emit Emit) {
	is, was := metav1.GetControllerOfNoCopy(obj), metav1.GetControllerOfNoCopy(old)
	if is == nil || was == nil || is.UID == was.UID {
		return
	}
	emit(trace.Released{Owner: Owner(old)})
	emit(trace.Adopted{Owner: Owner(obj)})
}

// Pod emits what a write changed in a pod's life.
func Pod(pod, old *corev1.Pod, emit Emit) {
	if is, changed := PodChange(pod, old); changed {
		emit(is)
	}
}

// PodChange is how a pod is after a write; false when people would see nothing new.
func PodChange(pod, old *corev1.Pod) (is trace.PodChanged, changed bool) {
	is = PodState(pod)
	return is, is != PodState(old)
}

// PodState is what people look at in a pod.
func PodState(pod *corev1.Pod) trace.PodChanged {
	return trace.PodChanged{
		Owner: Owner(pod), Phase: string(pod.Status.Phase), Ready: rollout.IsPodReady(pod),
		Reason: podReason(pod), Terminating: pod.DeletionTimestamp != nil,
	}
}

// podReason is the word for why a pod is not what it should be: its own, or
// its first waiting or crashed container's.
func podReason(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return pod.Status.Reason
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if waiting := list[i].State.Waiting; waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
				return waiting.Reason
			}
		}
	}
	return ""
}

// Specified is a Deployment's spec as the arithmetic sees it.
func Specified(d *appsv1.Deployment, owned []*appsv1.ReplicaSet) trace.Specified {
	s := trace.Specified{
		Generation: d.Generation, Replicas: *d.Spec.Replicas, Strategy: string(d.Spec.Strategy.Type),
		Surge: rollout.MaxSurge(d), Unavailable: rollout.MaxUnavailable(d), Needed: rollout.MinAvailable(d),
		MinReadySeconds: d.Spec.MinReadySeconds, ProgressDeadlineSeconds: d.Spec.ProgressDeadlineSeconds,
		Paused: d.Spec.Paused, Revision: d.Annotations[rollout.RevisionAnnotation],
	}
	if own := rollout.Split(d, owned).New; own != nil {
		s.NewSet = own.Name
	}
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		if r.MaxSurge != nil {
			s.MaxSurge = r.MaxSurge.String()
		}
		if r.MaxUnavailable != nil {
			s.MaxUnavailable = r.MaxUnavailable.String()
		}
	}
	return s
}

// SpecifiedReplicaSet is the spec of a ReplicaSet without an owner.
func SpecifiedReplicaSet(rs *appsv1.ReplicaSet) trace.Specified {
	return trace.Specified{Generation: rs.Generation, Replicas: *rs.Spec.Replicas, Needed: *rs.Spec.Replicas, MinReadySeconds: rs.Spec.MinReadySeconds}
}
