package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Annotations of pods that mean something to the API server.

func isMirror(own map[string]string) bool {
	_, mirror := own[corev1.MirrorPodAnnotationKey]
	return mirror
}

// podAnnotations checks them. Source: ValidatePodSpecificAnnotations.
func podAnnotations(own map[string]string, c *podChecker, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if isMirror(own) && c.spec.NodeName == "" {
		errs = append(errs, field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), own[corev1.MirrorPodAnnotationKey],
			"must set spec.nodeName if mirror pod annotation is set"))
	}
	errs = append(errs, annotatedTolerations(own[corev1.TolerationsAnnotationKey], c.keep.comparingTolerations, path)...)
	if !c.keep.deletionCost {
		errs = append(errs, deletionCost(own, path)...)
	}
	return join(errs, seccompAnnotations(own, path), appArmorAnnotations(own, c.spec, path))
}

// annotatedTolerations checks tolerations as they were written long ago.
func annotatedTolerations(text string, comparing bool, path *field.Path) field.ErrorList {
	if text == "" {
		return nil
	}
	var list []corev1.Toleration
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		text := strings.ReplaceAll(err.Error(), "v1.Toleration", "core.Toleration")
		return field.ErrorList{field.Invalid(path, corev1.TolerationsAnnotationKey, text)}
	}
	return tolerations(list, comparing, path.Child(corev1.TolerationsAnnotationKey))
}

// deletionCost wants a 32-bit number without a plus sign or leading zeros.
func deletionCost(own map[string]string, path *field.Path) field.ErrorList {
	text, ok := own[corev1.PodDeletionCost]
	if !ok {
		return nil
	}
	_, err := strconv.ParseInt(text, 10, 32)
	odd := strings.HasPrefix(text, "+") || (strings.HasPrefix(text, "0") && text != "0")
	return when(err != nil || odd, field.Invalid(path.Key(corev1.PodDeletionCost), text, "must be a 32bit integer"))
}

// withPrefix are the annotations that begin alike, in the order of their keys.
func withPrefix(own map[string]string, prefix string) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

func seccompAnnotations(own map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if profile, ok := own[corev1.SeccompPodAnnotationKey]; ok {
		errs = seccompName(profile, path.Child(corev1.SeccompPodAnnotationKey))
	}
	for _, key := range withPrefix(own, corev1.SeccompContainerAnnotationKeyPrefix) {
		errs = append(errs, seccompName(own[key], path.Child(key))...)
	}
	return errs
}

func seccompName(profile string, path *field.Path) field.ErrorList {
	switch profile {
	case corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault, corev1.SeccompProfileNameUnconfined:
		return nil
	}
	if file, local := strings.CutPrefix(profile, corev1.SeccompLocalhostProfileNamePrefix); local {
		return relativePath(file, path)
	}
	return field.ErrorList{field.Invalid(path, profile, "must be a valid seccomp profile")}
}

func appArmorAnnotations(own map[string]string, spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	containers := everyContainer(spec, path)
	for _, key := range withPrefix(own, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) {
		name := strings.TrimPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		exists := slices.ContainsFunc(containers, func(ctr located) bool { return ctr.Name == name })
		profile := own[key]
		known := profile == "" || profile == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault ||
			profile == corev1.DeprecatedAppArmorBetaProfileNameUnconfined ||
			strings.HasPrefix(profile, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
		errs = join(errs,
			when(!exists, field.Invalid(path.Key(key), name, "container not found")),
			when(!known, field.Invalid(path.Key(key), profile, fmt.Sprintf("invalid AppArmor profile name: %q", profile))),
		)
	}
	return errs
}

// profilesAgree wants annotations and fields that say the same thing to agree.
// Sources: validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate.
func profilesAgree(own map[string]string, spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	pod := spec.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	containers := everyContainer(spec, path)
	errs = append(errs, seccompAgrees(own, corev1.SeccompPodAnnotationKey, pod.SeccompProfile, path)...)
	for _, ctr := range containers {
		if sc := ctr.SecurityContext; sc != nil {
			errs = append(errs, seccompAgrees(own, corev1.SeccompContainerAnnotationKeyPrefix+ctr.Name, sc.SeccompProfile, ctr.path)...)
		}
	}
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return errs
	}
	for _, ctr := range containers {
		profile := pod.AppArmorProfile
		if sc := ctr.SecurityContext; sc != nil && sc.AppArmorProfile != nil {
			profile = sc.AppArmorProfile
		}
		if profile != nil {
			key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + ctr.Name
			errs = append(errs, agrees(own, key, string(profile.Type), profile.LocalhostProfile, "apparmor",
				ctr.path.Child("securityContext", "appArmorProfile"))...)
		}
	}
	return errs
}

func seccompAgrees(own map[string]string, key string, p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	return agrees(own, key, string(p.Type), p.LocalhostProfile, "seccomp", path.Child("securityContext", "seccompProfile"))
}

// agrees compares an annotation, if there is one, with a profile: seccomp and
// AppArmor use the same words, but seccomp knows docker/default as well.
func agrees(own map[string]string, key, kind string, file *string, what string, path *field.Path) field.ErrorList {
	annotation, ok := own[key]
	if !ok {
		return nil
	}
	wanted := ""
	switch kind {
	case string(corev1.SeccompProfileTypeUnconfined):
		wanted = corev1.SeccompProfileNameUnconfined
	case string(corev1.SeccompProfileTypeRuntimeDefault):
		wanted = corev1.SeccompProfileRuntimeDefault
		if what == "seccomp" && annotation == corev1.DeprecatedSeccompProfileDockerDefault {
			wanted = annotation
		}
	case string(corev1.SeccompProfileTypeLocalhost):
		name, local := strings.CutPrefix(annotation, corev1.SeccompLocalhostProfileNamePrefix)
		if local {
			return when(file == nil || name != *file,
				field.Forbidden(path.Child("localhostProfile"), what+" profile in annotation and field must match"))
		}
	default:
		return nil
	}
	return when(annotation != wanted || wanted == "",
		field.Forbidden(path.Child("type"), what+" type in annotation and field must match"))
}
