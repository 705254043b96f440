package quota

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"
)

// usage is what a pod is charged for. A pod that has ended, or that has
// overstayed its grace period by as much again, counts as an object only
// (pkg/quota/v1/evaluator/core/pods.go PodUsageFunc).
func usage(pod *corev1.Pod, now time.Time) corev1.ResourceList {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	out := corev1.ResourceList{"count/pods": one}
	if !counts(pod, now) {
		return out
	}
	out[corev1.ResourcePods] = one
	opts := podresources.PodResourcesOptions{UseStatusResources: true}
	compute(out, podresources.PodRequests(pod, opts), podresources.PodLimits(pod, opts))
	return out
}

func counts(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return true
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return !now.After(pod.DeletionTimestamp.Add(grace))
}

// compute enters requests and limits under all names that a quota may use for them.
func compute(out, requests, limits corev1.ResourceList) {
	for name, q := range requests {
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage,
			strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			out[name], out["requests."+name] = q, q
		case strings.Contains(string(name), "/"):
			out["requests."+name] = q
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, ok := limits[name]; ok {
			out["limits."+name] = q
		}
	}
}

// mustSay are the resources that every container has to state when a quota
// limits them.
var mustSay = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
	corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
}

// missing words what containers fail to state: "cpu for: a,b; memory for: a".
func (a *account) missing(pod *corev1.Pod) string {
	if podresources.IsPodLevelResourcesSet(pod) {
		return ""
	}
	var parts []string
	for _, name := range mustSay {
		if _, limited := a.hard[name]; !limited {
			continue
		}
		var silent []string
		for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				if !states(&list[i], name) {
					silent = append(silent, list[i].Name)
				}
			}
		}
		if len(silent) > 0 {
			slices.Sort(silent)
			parts = append(parts, string(name)+" for: "+strings.Join(slices.Compact(silent), ","))
		}
	}
	return strings.Join(parts, "; ")
}

func states(c *corev1.Container, name corev1.ResourceName) bool {
	said := corev1.ResourceList{}
	compute(said, c.Resources.Requests, c.Resources.Limits)
	_, ok := said[name]
	return ok
}
