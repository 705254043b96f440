package live

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bare copies an object out of its page, without the record of who set what.
func bare[T any, P interface {
	*T
	Object
}](obj P) P {
	c := *obj
	P(&c).SetManagedFields(nil)
	return &c
}

// bareNode is a node without what its kubelet reports for people.
func bareNode(node *corev1.Node) *corev1.Node {
	out := bare(node)
	out.Annotations = nil
	out.Status = corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable, Conditions: node.Status.Conditions}
	return out
}

// occupant is a pod cut down to what makes it take room from others: its place,
// requests and host ports, and the labels and terms that keep others away. It
// is nil for pods that have ended.
func occupant(pod *corev1.Pod) *corev1.Pod {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, Priority: pod.Spec.Priority, PriorityClassName: pod.Spec.PriorityClassName,
			PreemptionPolicy: pod.Spec.PreemptionPolicy, SchedulerName: pod.Spec.SchedulerName, Overhead: pod.Spec.Overhead,
			Resources: pod.Spec.Resources, HostNetwork: pod.Spec.HostNetwork, Affinity: pod.Spec.Affinity,
			TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds,
			Containers:                    slots(pod.Spec.Containers), InitContainers: slots(pod.Spec.InitContainers),
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: placement(pod.Status.Conditions), StartTime: pod.Status.StartTime},
	}
	if pod.Spec.NodeName == "" {
		out.Spec.NodeSelector, out.Spec.Tolerations = pod.Spec.NodeSelector, pod.Spec.Tolerations
		out.Spec.TopologySpreadConstraints, out.Spec.SchedulingGates = pod.Spec.TopologySpreadConstraints, pod.Spec.SchedulingGates
	}
	return out
}

// slots are containers as the scheduler sees them.
func slots(containers []corev1.Container) []corev1.Container {
	if len(containers) == 0 {
		return nil
	}
	out := make([]corev1.Container, len(containers))
	for i, c := range containers {
		out[i] = corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy, Ports: hostPorts(c.Ports)}
	}
	return out
}

func hostPorts(ports []corev1.ContainerPort) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, p := range ports {
		if p.HostPort != 0 {
			out = append(out, p)
		}
	}
	return out
}

func placement(conditions []corev1.PodCondition) []corev1.PodCondition {
	var out []corev1.PodCondition
	for _, c := range conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			c.Message = ""
			out = append(out, c)
		}
	}
	return out
}
