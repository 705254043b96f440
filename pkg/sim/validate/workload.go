package validate

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	specPath   = field.NewPath("spec")
	statusPath = field.NewPath("status")
)

// strictly checks a selector and a template as at a creation.
func strictly(s *metav1.LabelSelector, t *corev1.PodTemplateSpec) templateErrors {
	return func() field.ErrorList { return selectorAndTemplate(s, t, leniency{}) }
}

func deploymentSpec(spec *appsv1.DeploymentSpec, own map[string]string, template templateErrors) field.ErrorList {
	deadline := specPath.Child("progressDeadlineSeconds")
	errs := join(
		optionalNonNegative(specPath.Child("replicas"), spec.Replicas),
		template(),
		strategy(&spec.Strategy, specPath.Child("strategy")),
		nonNegative(specPath.Child("minReadySeconds"), spec.MinReadySeconds),
		optionalNonNegative(specPath.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit),
		rollback(own),
		optionalNonNegative(deadline, spec.ProgressDeadlineSeconds),
	)
	if seconds := spec.ProgressDeadlineSeconds; seconds != nil && *seconds <= spec.MinReadySeconds {
		errs = append(errs, field.Invalid(deadline, *seconds, "must be greater than minReadySeconds"))
	}
	return errs
}

// rollback checks what is left of spec.rollbackTo: the annotation it is kept in.
func rollback(own map[string]string) field.ErrorList {
	revision, err := strconv.ParseInt(own[appsv1.DeprecatedRollbackTo], 10, 64)
	if err != nil {
		return nil
	}
	return nonNegative(specPath.Child("rollback", "version"), revision)
}

func replicaSetSpec(spec *appsv1.ReplicaSetSpec, template templateErrors) field.ErrorList {
	return join(
		optionalNonNegative(specPath.Child("replicas"), spec.Replicas),
		nonNegative(specPath.Child("minReadySeconds"), spec.MinReadySeconds),
		template(),
	)
}

// selectorAndTemplate checks both, and that they fit. An empty selector of a
// ReplicaSet is refused in the words of a Deployment's, as upstream.
func selectorAndTemplate(s *metav1.LabelSelector, t *corev1.PodTemplateSpec, keep leniency) field.ErrorList {
	path := specPath.Child("selector")
	var errs field.ErrorList
	switch {
	case s == nil:
		errs = append(errs, field.Required(path, ""))
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		errs = append(errs, field.Invalid(path, s, "empty selector is invalid for deployment"))
	default:
		errs = append(errs, labelSelector(s, false, path)...)
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return append(errs, field.Invalid(path, s, "invalid label selector"))
	}
	return join(errs, controllerTemplate(t, selector, keep, specPath.Child("template")))
}

// controllerTemplate checks a template whose pods are to run for ever.
// Source: ValidatePodTemplateSpecForReplicaSet.
func controllerTemplate(t *corev1.PodTemplateSpec, s klabels.Selector, keep leniency, path *field.Path) field.ErrorList {
	pod := path.Child("spec")
	return join(
		when(!s.Empty() && !s.Matches(klabels.Set(t.Labels)),
			field.Invalid(path.Child("metadata", "labels"), t.Labels, "`selector` does not match template `labels`")),
		podTemplate(t, keep, path),
		oneOf(pod.Child("restartPolicy"), t.Spec.RestartPolicy, corev1.RestartPolicyAlways),
		when(t.Spec.ActiveDeadlineSeconds != nil,
			field.Forbidden(pod.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicaSet is not Supported")),
	)
}

func strategy(s *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		return when(s.RollingUpdate != nil,
			field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'"))
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(rolling, "this should be defaulted and never be nil")}
		}
		return rollingUpdate(s.RollingUpdate, rolling)
	}
	allowed := []appsv1.DeploymentStrategyType{
		appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType,
	}
	return field.ErrorList{field.NotSupported[appsv1.DeploymentStrategyType](path, strategyValue(s), allowed)}
}

// rollingUpdate refuses two literal zeros, "0%" included: percentages that only
// round to zero are fine, the controller then takes one pod down at a time.
func rollingUpdate(r *appsv1.RollingUpdateDeployment, path *field.Path) field.ErrorList {
	unavailable, surge := orZero(r.MaxUnavailable), orZero(r.MaxSurge)
	maxUnavailable := path.Child("maxUnavailable")
	percent, isPercent := percentOf(unavailable)
	return join(
		intOrPercent(unavailable, maxUnavailable),
		intOrPercent(surge, path.Child("maxSurge")),
		when(intOrPercentValue(unavailable) == 0 && intOrPercentValue(surge) == 0,
			field.Invalid(maxUnavailable, unavailable, "may not be 0 when `maxSurge` is 0")),
		when(isPercent && percent > 100,
			field.Invalid(maxUnavailable, unavailable, "must not be greater than 100%")),
	)
}

func orZero(value *intstr.IntOrString) intstr.IntOrString {
	if value == nil {
		return intstr.IntOrString{}
	}
	return *value
}

func intOrPercent(value intstr.IntOrString, path *field.Path) field.ErrorList {
	if value.Type == intstr.String {
		return invalid(path, value, validation.IsValidPercent(value.StrVal))
	}
	return nonNegative(path, value.IntVal)
}

func percentOf(value intstr.IntOrString) (int, bool) {
	if value.Type != intstr.String || len(validation.IsValidPercent(value.StrVal)) > 0 {
		return 0, false
	}
	percent, _ := strconv.Atoi(value.StrVal[:len(value.StrVal)-1])
	return percent, true
}

// intOrPercentValue is the number in front of a percent sign, or the number
// itself; text that is neither counts as zero.
func intOrPercentValue(value intstr.IntOrString) int {
	if percent, ok := percentOf(value); ok {
		return percent
	}
	return value.IntValue()
}
