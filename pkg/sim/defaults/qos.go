package defaults

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// QOSClass is the class the API server writes into the status of a new Pod,
// whose requests must have been filled in by Pod. Resources of the pod as a
// whole decide alone where they are set; otherwise every container must agree.
// Source: pkg/apis/core/helper/qos.ComputePodQOS.
func QOSClass(p *corev1.Pod) corev1.PodQOSClass {
	if resourcehelper.IsPodLevelResourcesSet(p) {
		return qosOf(p.Spec.Resources)
	}
	var class corev1.PodQOSClass
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			class = agree(class, qosOf(&list[i].Resources))
		}
	}
	if class == "" {
		return corev1.PodQOSBestEffort
	}
	return class
}

func qosOf(r *corev1.ResourceRequirements) corev1.PodQOSClass {
	var class corev1.PodQOSClass
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		switch {
		case !request.Equal(limit):
			return corev1.PodQOSBurstable
		case request.IsZero():
			class = agree(class, corev1.PodQOSBestEffort)
		default:
			class = agree(class, corev1.PodQOSGuaranteed)
		}
	}
	return class
}

// agree joins two classes: only like classes stay, anything mixed is Burstable.
func agree(a, b corev1.PodQOSClass) corev1.PodQOSClass {
	if a == "" || a == b {
		return b
	}
	return corev1.PodQOSBurstable
}
