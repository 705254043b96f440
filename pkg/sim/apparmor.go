package sim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// syncAppArmor writes the AppArmor profiles that a new pod's annotations name
// into the containers that have none of their own and do not get the same from
// the pod. The pod's containers may be its template's: those that change are
// copied. Upstream: applyAppArmorVersionSkew of pkg/registry/core/pod.
func syncAppArmor(pod *corev1.Pod) {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows || !namesAppArmor(pod.Annotations) {
		return
	}
	pod.Spec.InitContainers = slices.Clone(pod.Spec.InitContainers)
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		c.SecurityContext = withAppArmor(c.SecurityContext, c.Name, pod)
	}
	pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.SecurityContext = withAppArmor(c.SecurityContext, c.Name, pod)
	}
}

func namesAppArmor(annotations map[string]string) bool {
	for key := range annotations {
		if strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) {
			return true
		}
	}
	return false
}

func withAppArmor(is *corev1.SecurityContext, container string, pod *corev1.Pod) *corev1.SecurityContext {
	value, named := pod.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+container]
	if !named || is != nil && is.AppArmorProfile != nil {
		return is
	}
	profile := appArmorProfile(value)
	if profile == nil || pod.Spec.SecurityContext != nil && equality.Semantic.DeepEqual(profile, pod.Spec.SecurityContext.AppArmorProfile) {
		return is
	}
	out := &corev1.SecurityContext{}
	if is != nil {
		*out = *is
	}
	out.AppArmorProfile = profile
	return out
}

// maxAppArmorFile is the longest name of a profile's file, in bytes.
const maxAppArmorFile = 4095

// appArmorProfile is what an annotation's value means, nil when that is no valid profile.
func appArmorProfile(value string) *corev1.AppArmorProfile {
	switch value {
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	file, local := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	if !local || file == "" || file != strings.TrimSpace(file) || len(file) > maxAppArmorFile {
		return nil
	}
	return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &file}
}
