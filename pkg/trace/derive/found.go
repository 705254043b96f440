package derive

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// FoundDeployment emits what there is of a Deployment when a run begins.
func FoundDeployment(d *appsv1.Deployment, owned []*appsv1.ReplicaSet, emit Emit) {
	emit(Specified(d, owned))
	emit(trace.Found{Replicas: d.Spec.Replicas, Revision: d.Annotations[rollout.RevisionAnnotation]})
	for i := range d.Status.Conditions {
		emit(deploymentCondition(&d.Status.Conditions[i]))
	}
}

// FoundReplicaSet emits what there is of a ReplicaSet when a run begins.
func FoundReplicaSet(rs *appsv1.ReplicaSet, emit Emit) {
	if metav1.GetControllerOfNoCopy(rs) == nil {
		emit(SpecifiedReplicaSet(rs))
	}
	emit(trace.Found{
		Owner: Owner(rs), Replicas: rs.Spec.Replicas,
		Revision: rs.Annotations[rollout.RevisionAnnotation], Hash: rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey],
	})
}

// FoundPod emits what there is of a pod when a run begins, at now. Whether it
// is available depends on its owner's minReadySeconds, so the caller says it.
func FoundPod(pod *corev1.Pod, available bool, now time.Time, emit Emit) {
	emit(trace.Found{
		Owner: Owner(pod), Phase: string(pod.Status.Phase), Node: pod.Spec.NodeName,
		Ready: rollout.IsPodReady(pod), ReadySeconds: readySeconds(pod, now), Available: available,
	})
	if state := PodState(pod); state.Terminating || state.Reason != "" {
		emit(state)
	}
}

// readySeconds is how long a pod has been ready; zero when it is not or that is unknown.
func readySeconds(pod *corev1.Pod, now time.Time) float64 {
	ready := rollout.PodReadyCondition(pod)
	if ready == nil || ready.Status != corev1.ConditionTrue || ready.LastTransitionTime.IsZero() {
		return 0
	}
	return now.Sub(ready.LastTransitionTime.Time).Seconds()
}
