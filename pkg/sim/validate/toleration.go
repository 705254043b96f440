package validate

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// tolerations checks what taints a pod bears. Source: ValidateTolerations.
func tolerations(list []corev1.Toleration, comparing bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		t, at := &list[i], path.Index(i)
		if t.Key != "" {
			errs = append(errs, metavalidation.ValidateLabelName(t.Key, at.Child("key"))...)
		}
		errs = join(errs,
			when(t.Key == "" && t.Operator != corev1.TolerationOpExists, field.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\"")),
			when(t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute, field.Invalid(at.Child("effect"), t.Effect,
				"effect must be 'NoExecute' when `tolerationSeconds` is set")),
			tolerationValue(t, comparing, at),
		)
		if t.Effect != "" {
			errs = append(errs, oneOf(at.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule,
				corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		}
	}
	return errs
}

// tolerationValue checks the value by its operator, which the errors about
// equality name instead of the value, as upstream. Lt and Gt are off by default.
func tolerationValue(t *corev1.Toleration, comparing bool, path *field.Path) field.ErrorList {
	operator := path.Child("operator")
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		complaints := validation.IsValidLabelValue(t.Value)
		return when(len(complaints) > 0, field.Invalid(operator, t.Value, strings.Join(complaints, ";")))
	case corev1.TolerationOpExists:
		return when(t.Value != "", field.Invalid(operator, t.Value, "value must be empty when `operator` is 'Exists'"))
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		if comparing {
			return decimal(t.Value, path.Child("value"))
		}
		return field.ErrorList{field.NotSupported(operator, t.Operator, []corev1.TolerationOperator{
			corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt,
		})}
	}
	return oneOf(operator, t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
}

func decimal(text string, path *field.Path) field.ErrorList {
	errs := invalid(path, text, content.IsDecimalInteger(text))
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		errs = append(errs, field.Invalid(path, text, err.Error()))
	}
	return errs
}
