package quota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/qos"
)

// covers says whether a quota counts a pod: it limits something that pods use
// and all its scopes fit (pkg/quota/v1/generic Matches).
func (a *account) covers(pod *corev1.Pod) bool {
	if !a.aboutPods() {
		return false
	}
	for _, scope := range a.quota.Spec.Scopes {
		if !fits(pod, corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}) {
			return false
		}
	}
	if s := a.quota.Spec.ScopeSelector; s != nil {
		for _, r := range s.MatchExpressions {
			if !fits(pod, r) {
				return false
			}
		}
	}
	return true
}

func (a *account) aboutPods() bool {
	for name := range a.hard {
		switch {
		case slices.Contains(podNames, name), strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix),
			strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) && name != corev1.ResourceRequestsStorage:
			return true
		}
	}
	return false
}

var podNames = []corev1.ResourceName{
	"count/pods", corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
}

func fits(pod *corev1.Pod, r corev1.ScopedResourceSelectorRequirement) bool {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return hasDeadline(pod)
	case corev1.ResourceQuotaScopeNotTerminating:
		return !hasDeadline(pod)
	case corev1.ResourceQuotaScopeBestEffort:
		return qos.GetPodQOS(pod) == corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return qos.GetPodQOS(pod) != corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopePriorityClass:
		return fitsClass(pod.Spec.PriorityClassName, r)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return looksAbroad(pod)
	}
	return false
}

// hasDeadline is what quota scopes call terminating.
func hasDeadline(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

func fitsClass(class string, r corev1.ScopedResourceSelectorRequirement) bool {
	switch r.Operator {
	case corev1.ScopeSelectorOpExists:
		return class != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return class == ""
	case corev1.ScopeSelectorOpIn:
		return class != "" && slices.Contains(r.Values, class)
	case corev1.ScopeSelectorOpNotIn:
		return class == "" || !slices.Contains(r.Values, class)
	}
	return false
}

// looksAbroad says whether a pod's affinity reaches into other namespaces.
func looksAbroad(pod *corev1.Pod) bool {
	var terms []corev1.PodAffinityTerm
	a := pod.Spec.Affinity
	if a != nil && a.PodAffinity != nil {
		terms = append(terms, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		for _, w := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, w.PodAffinityTerm)
		}
	}
	if a != nil && a.PodAntiAffinity != nil {
		terms = append(terms, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		for _, w := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, w.PodAffinityTerm)
		}
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		return len(t.Namespaces) > 0 || t.NamespaceSelector != nil
	})
}
