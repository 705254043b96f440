package replicaset

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The reasons of the Events about writes that went well. (controller.SuccessfulCreatePodReason, SuccessfulDeletePodReason)
const (
	successfulCreateReason = "SuccessfulCreate"
	successfulDeleteReason = "SuccessfulDelete"
)

var errNoLabels = errors.New("unable to create pods, no labels")

// podFromTemplate makes the pod a ReplicaSet asks for. All it points at is
// shared with the template, which like every stored object is never changed.
// (controller.GetPodFromTemplate)
func podFromTemplate(rs *appsv1.ReplicaSet) *corev1.Pod {
	template := &rs.Spec.Template
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       rs.Namespace,
			GenerateName:    namePrefix(rs.Name),
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)},
		},
		Spec: template.Spec,
	}
}

// namePrefix ends in a dash wherever a name with one is valid. (controller.getPodsPrefix)
func namePrefix(owner string) string {
	prefix := owner + "-"
	if len(validation.NameIsDNSSubdomain(prefix, true)) != 0 {
		return owner
	}
	return prefix
}

// createPod makes one pod and says so in an Event. A namespace that is being
// deleted counts as success and is not spoken of, since nothing can be made
// there any more. (controller.RealPodControl.CreatePods, manageReplicas)
func (c *Controller) createPod(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, wanted *corev1.Pod) error {
	if len(rs.Spec.Template.Labels) == 0 {
		return errNoLabels
	}
	pod, err := env.API.CreatePod(ctx, wanted)
	if err != nil {
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		env.Events.Event(rs, corev1.EventTypeWarning, rollout.FailedCreateReason, fmt.Sprintf("Error creating: %v", err))
		return err
	}
	c.writes.wrotePod(keyOf(rs), rs.UID, pod.ResourceVersion)
	env.Events.Event(rs, corev1.EventTypeNormal, successfulCreateReason, "Created pod: "+pod.Name)
	return nil
}

// deletePod deletes one pod and says so in an Event. A deletion that fails will
// not be observed, so it is no longer expected; a pod that is already gone is
// no failure. (controller.RealPodControl.DeletePod, manageReplicas)
func (c *Controller) deletePod(ctx context.Context, env *engine.Env, rs *appsv1.ReplicaSet, pod *corev1.Pod, why trace.Deleted) error {
	err := env.API.DeletePod(ctx, rs.Namespace, pod.Name)
	if err == nil {
		env.Trace.Emit(podRef(pod), why)
		env.Events.Event(rs, corev1.EventTypeNormal, successfulDeleteReason, "Deleted pod: "+pod.Name)
		return nil
	}
	c.expectations.deletionSeen(keyOf(rs), keyOf(pod))
	if apierrors.IsNotFound(err) {
		return nil
	}
	env.Events.Event(rs, corev1.EventTypeWarning, rollout.FailedDeleteReason, fmt.Sprintf("Error deleting: %v", err))
	return fmt.Errorf("unable to delete pods: %v", err)
}

func podRef(pod *corev1.Pod) trace.Ref {
	return trace.Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
}
