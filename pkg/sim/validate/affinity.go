package validate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

func (c *podChecker) affinity(path *field.Path) field.ErrorList {
	a := c.spec.Affinity
	if a == nil {
		return nil
	}
	var errs field.ErrorList
	if a.NodeAffinity != nil {
		errs = c.nodeAffinity(a.NodeAffinity, path.Child("nodeAffinity"))
	}
	if p := a.PodAffinity; p != nil {
		errs = append(errs, c.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))...)
	}
	if p := a.PodAntiAffinity; p != nil {
		errs = append(errs, c.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))...)
	}
	return errs
}

// weight checks how much a preference counts.
func weight(n int32, path *field.Path) field.ErrorList {
	return when(n <= 0 || n > 100, field.Invalid(path.Child("weight"), n, "must be in the range 1-100"))
}

// nodeAffinity checks terms about nodes. Values no label can have are let
// through where they only express a preference.
func (c *podChecker) nodeAffinity(a *corev1.NodeAffinity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s := a.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
		at := path.Child(requiredTerms, "nodeSelectorTerms")
		errs = when(len(s.NodeSelectorTerms) == 0, field.Required(at, "must have at least one node selector term"))
		for i := range s.NodeSelectorTerms {
			errs = append(errs, nodeTerm(&s.NodeSelectorTerms[i], c.keep.nodeLabelValues, at.Index(i))...)
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		term, at := &a.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(preferredTerms).Index(i)
		errs = join(errs, weight(term.Weight, at), nodeTerm(&term.Preference, true, at.Child("preference")))
	}
	return errs
}

func nodeTerm(term *corev1.NodeSelectorTerm, anyValues bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range term.MatchExpressions {
		errs = append(errs, nodeExpression(&term.MatchExpressions[i], anyValues, path.Child("matchExpressions").Index(i))...)
	}
	for i := range term.MatchFields {
		errs = append(errs, nodeField(&term.MatchFields[i], path.Child("matchFields").Index(i))...)
	}
	return errs
}

func nodeExpression(r *corev1.NodeSelectorRequirement, anyValues bool, path *field.Path) field.ErrorList {
	values := path.Child("values")
	var errs field.ErrorList
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		errs = when(len(r.Values) == 0, field.Required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		errs = when(len(r.Values) > 0,
			field.Forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		errs = when(len(r.Values) != 1,
			field.Required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	errs = append(errs, metavalidation.ValidateLabelName(r.Key, path.Child("key"))...)
	if anyValues {
		return errs
	}
	for i, value := range r.Values {
		errs = append(errs, invalid(values.Index(i), value, validation.IsValidLabelValue(value))...)
	}
	return errs
}

// nodeField checks a term about a field of a node: only its name can be asked for.
func nodeField(r *corev1.NodeSelectorRequirement, path *field.Path) field.ErrorList {
	values := path.Child("values")
	var errs field.ErrorList
	if r.Operator == corev1.NodeSelectorOpIn || r.Operator == corev1.NodeSelectorOpNotIn {
		errs = when(len(r.Values) != 1,
			field.Required(values, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
	} else {
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != metav1.ObjectNameField {
		return append(errs, field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
	}
	for i, name := range r.Values {
		errs = append(errs, invalid(values.Index(i), name, subdomain(name))...)
	}
	return errs
}

// podTerms checks the terms of an affinity to pods, or of the contrary.
func (c *podChecker) podTerms(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range hard {
		errs = append(errs, podTerm(&hard[i], c.keep.labelValues, path.Child(requiredTerms).Index(i))...)
	}
	for i := range soft {
		at := path.Child(preferredTerms).Index(i)
		errs = join(errs,
			weight(soft[i].Weight, at),
			podTerm(&soft[i].PodAffinityTerm, c.keep.labelValues, at.Child("podAffinityTerm")),
		)
	}
	return errs
}

func podTerm(term *corev1.PodAffinityTerm, anyValues bool, path *field.Path) field.ErrorList {
	errs := podTermSelectors(term, anyValues, path)
	for _, name := range term.Namespaces {
		errs = append(errs, invalid(path.Child("namespace"), name, namespaceName(name))...)
	}
	key := path.Child("topologyKey")
	return join(errs,
		labelKeys(term.MatchLabelKeys, term.MismatchLabelKeys, term.LabelSelector, path),
		when(term.TopologyKey == "", field.Required(key, "can not be empty")),
		metavalidation.ValidateLabelName(term.TopologyKey, key),
	)
}

func podTermSelectors(term *corev1.PodAffinityTerm, anyValues bool, path *field.Path) field.ErrorList {
	return join(
		labelSelector(term.LabelSelector, anyValues, path.Child("labelSelector")),
		labelSelector(term.NamespaceSelector, anyValues, path.Child("namespaceSelector")),
	)
}

// labelKeys checks the keys whose values are taken from the pod itself. A key
// that the selector already has twice, once from these keys, was given twice.
// Source: ValidateMatchLabelKeysAndMismatchLabelKeys.
func labelKeys(match, mismatch []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	errs := join(
		keysNeedSelector(match, selector, path.Child("matchLabelKeys")),
		keysNeedSelector(mismatch, selector, path.Child("mismatchLabelKeys")),
	)
	if selector != nil {
		errs = append(errs, keysOnce(match, selector, path)...)
	}
	others := sets.New(mismatch...)
	for i, key := range match {
		errs = append(errs, when(others.Has(key), field.Invalid(path.Child("matchLabelKeys").Index(i), key,
			"exists in both matchLabelKeys and mismatchLabelKeys"))...)
	}
	return errs
}

func keysOnce(match []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	position := map[string]int{}
	for i, key := range match {
		position[key] = i
	}
	seen := sets.KeySet(selector.MatchLabels)
	var errs field.ErrorList
	for _, expression := range selector.MatchExpressions {
		i, taken := position[expression.Key]
		errs = append(errs, when(taken && seen.Has(expression.Key), field.Invalid(path.Index(i), expression.Key,
			"exists in both matchLabelKeys and labelSelector"))...)
		seen.Insert(expression.Key)
	}
	return errs
}

func keysNeedSelector(keys []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if len(keys) > 0 && selector == nil {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, metavalidation.ValidateLabelName(key, path.Index(i))...)
	}
	return errs
}

// spreadConstraints checks how pods are to be spread. Source: validateTopologySpreadConstraints.
func (c *podChecker) spreadConstraints(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	list := c.spec.TopologySpreadConstraints
	for i := range list {
		constraint, at := &list[i], path.Index(i)
		errs = join(errs,
			positive(at.Child("maxSkew"), constraint.MaxSkew),
			when(constraint.TopologyKey == "", field.Required(at.Child("topologyKey"), "can not be empty")),
			oneOf(at.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway),
			repeated(constraint, list[i+1:], at.Child("{topologyKey, whenUnsatisfiable}")),
			minDomains(constraint, at.Child("minDomains")),
			inclusion(constraint.NodeAffinityPolicy, at.Child("nodeAffinityPolicy")),
			inclusion(constraint.NodeTaintsPolicy, at.Child("nodeTaintsPolicy")),
		)
		if c.keep.spreadKeys {
			errs = append(errs, keysNotInSelector(constraint, at.Child("matchLabelKeys"))...)
		} else {
			errs = append(errs, labelKeys(constraint.MatchLabelKeys, nil, constraint.LabelSelector, at)...)
		}
		if !c.keep.spreadSelectors {
			errs = append(errs, labelSelector(constraint.LabelSelector, false, at.Child("labelSelector"))...)
		}
	}
	return errs
}

// repeated refuses a second constraint of the same kind on the same topology.
func repeated(c *corev1.TopologySpreadConstraint, later []corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	for _, other := range later {
		if other.TopologyKey == c.TopologyKey && other.WhenUnsatisfiable == c.WhenUnsatisfiable {
			return field.ErrorList{field.Duplicate(path, fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable))}
		}
	}
	return nil
}

func minDomains(c *corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	if c.MinDomains == nil {
		return nil
	}
	return append(positive(path, *c.MinDomains), when(c.WhenUnsatisfiable != corev1.DoNotSchedule,
		field.Invalid(path, *c.MinDomains, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s",
			corev1.DoNotSchedule, c.WhenUnsatisfiable)))...)
}

func inclusion(policy *corev1.NodeInclusionPolicy, path *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	return oneOf(path, *policy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
}

// keysNotInSelector is the rule before 1.34, for what was stored under it.
func keysNotInSelector(c *corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	inSelector := sets.New[string]()
	var errs field.ErrorList
	if s := c.LabelSelector; s != nil {
		inSelector = sets.KeySet(s.MatchLabels)
		for _, expression := range s.MatchExpressions {
			inSelector.Insert(expression.Key)
		}
	} else if len(c.MatchLabelKeys) > 0 {
		errs = append(errs, field.Forbidden(path, "must not be specified when labelSelector is not set"))
	}
	for i, key := range c.MatchLabelKeys {
		errs = append(errs, metavalidation.ValidateLabelName(key, path.Index(i))...)
		errs = append(errs, when(inSelector.Has(key),
			field.Invalid(path.Index(i), key, "exists in both matchLabelKeys and labelSelector"))...)
	}
	return errs
}
