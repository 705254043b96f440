package sim

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// bind assigns a pod to a node: the binding subresource (upstream
// registry/core/pod/storage, BindingREST).
func (r requester) bind(pod *corev1.Pod, node string) (*corev1.Pod, error) {
	k := pods
	out, err := r.server.bind(r, k, pod, node)
	return out, r.failed(k, "create", "binding", pod, err)
}

func (s *server) bind(r requester, k *kind, pod *corev1.Pod, node string) (*corev1.Pod, error) {
	old, ok := s.store.get(pods, pod.Namespace, pod.Name)
	if !ok {
		return nil, notFound(k, pod.Name)
	}
	if pod.UID != "" && pod.UID != old.GetUID() {
		return nil, uidConflict(k, k.groupResource(), old, pod.UID)
	}
	obj := k.clone(old).(*corev1.Pod)
	if why := unbindable(obj); why != "" {
		binding := k.groupResource()
		binding.Resource += "/binding"
		return nil, apierrors.NewConflict(binding, pod.Name, errors.New(why))
	}
	obj.Spec.NodeName, obj.Status.NominatedNodeName = node, ""
	obj.Status.Conditions = withCondition(obj.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: s.world.now(),
	})
	s.commit(r, write{kind: k, verb: "create", subresource: "binding", code: http.StatusCreated, obj: obj, old: old})
	return obj, nil
}

// unbindable says why a pod cannot be given a node.
func unbindable(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Sprintf("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Sprintf("pod %s has non-empty .spec.schedulingGates", pod.Name)
	}
	return ""
}

// withCondition returns the conditions with one set; the given slice is left alone.
func withCondition(conditions []corev1.PodCondition, c corev1.PodCondition) []corev1.PodCondition {
	out := make([]corev1.PodCondition, 0, len(conditions)+1)
	found := false
	for _, have := range conditions {
		if have.Type == c.Type {
			if have.Status == c.Status {
				c.LastTransitionTime = have.LastTransitionTime
			}
			have, found = c, true
		}
		out = append(out, have)
	}
	if !found {
		out = append(out, c)
	}
	return out
}
