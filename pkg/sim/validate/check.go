package validate

import (
	"maps"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// join puts lists of errors one after the other.
func join(lists ...field.ErrorList) field.ErrorList {
	return slices.Concat(lists...)
}

// when is the error if something is wrong, and nothing otherwise.
func when(wrong bool, err *field.Error) field.ErrorList {
	if !wrong {
		return nil
	}
	return field.ErrorList{err}
}

// invalid is one error for every complaint about one value.
func invalid(path *field.Path, value any, complaints []string) field.ErrorList {
	var errs field.ErrorList
	for _, text := range complaints {
		errs = append(errs, field.Invalid(path, value, text))
	}
	return errs
}

// required demands a text that is not empty.
func required[T ~string](path *field.Path, value T) field.ErrorList {
	if value != "" {
		return nil
	}
	return field.ErrorList{field.Required(path, "")}
}

// requiredAnd demands a text and has its form checked when there is one.
func requiredAnd[T ~string](path *field.Path, value T, check func(string) []string) field.ErrorList {
	if value == "" {
		return required(path, value)
	}
	return invalid(path, value, check(string(value)))
}

// optionalAnd has the form of a text checked when there is one.
func optionalAnd(path *field.Path, value string, check func(string) []string) field.ErrorList {
	if value == "" {
		return nil
	}
	return invalid(path, value, check(value))
}

// oneOf demands one of the allowed words, which the message lists in the order given.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// requiredOneOf is oneOf with a message of its own for no word at all.
func requiredOneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if value == "" {
		return required(path, value)
	}
	return oneOf(path, value, allowed...)
}

// nonNegative demands 0 or more.
func nonNegative[T int32 | int64](path *field.Path, value T) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), path)
}

// optionalNonNegative demands 0 or more of a number that is there.
func optionalNonNegative(path *field.Path, value *int32) field.ErrorList {
	if value == nil {
		return nil
	}
	return nonNegative(path, *value)
}

// positive demands 1 or more.
func positive(path *field.Path, value int32) field.ErrorList {
	if value > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, int64(value), "must be greater than zero")}
}

// userID and groupID check the range of an id that is there.
func userID(path *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalid(path, *id, validation.IsValidUserID(*id))
}

func groupID(path *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalid(path, *id, validation.IsValidGroupID(*id))
}

// subdomain is the form of most names.
func subdomain(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) }

// subdomainPrefix is the form of a name something may be appended to.
func subdomainPrefix(name string) []string { return apivalidation.NameIsDNSSubdomain(name, true) }

// namespaceName is the form of a namespace's name.
func namespaceName(name string) []string { return apivalidation.ValidateNamespaceName(name, false) }

// labels checks keys and values, in the order of the keys.
func labels(set map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(set)) {
		errs = append(errs, metavalidation.ValidateLabels(map[string]string{key: set[key]}, path)...)
	}
	return errs
}

// annotations checks the keys, in their order, and the size of all together.
func annotations(set map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(set)) {
		errs = append(errs, apivalidation.ValidateAnnotations(map[string]string{key: ""}, path)...)
	}
	tooBig := apivalidation.ValidateAnnotationsSize(set) != nil
	return append(errs, when(tooBig, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))...)
}

// labelSelector checks a selector; values it may not have can be let through.
func labelSelector(s *metav1.LabelSelector, anyValues bool, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	options := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: anyValues}
	expressions := &metav1.LabelSelector{MatchExpressions: s.MatchExpressions}
	return join(
		labels(s.MatchLabels, path.Child("matchLabels")),
		metavalidation.ValidateLabelSelector(expressions, options, path),
	)
}
