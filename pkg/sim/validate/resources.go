package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Resource names without a domain that mean something somewhere, those that
// only count whole things, and those a container can ask for.
var (
	integerResources = sets.New[corev1.ResourceName](corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices,
		corev1.ResourceReplicationControllers, corev1.ResourceSecrets, corev1.ResourceConfigMaps,
		corev1.ResourcePersistentVolumeClaims, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers)
	containerResources = sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage)
	standardResources  = integerResources.Union(containerResources).Insert(corev1.ResourceStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage)
)

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative: the name belongs to Kubernetes, having no domain or one of its own.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended: the name is somebody else's, and could be in a quota as well.
func isExtended(name corev1.ResourceName) bool {
	inQuota := corev1.DefaultResourceRequestsPrefix + string(name)
	return !isNative(name) && !strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(inQuota)) == 0
}

// overcommits: a limit may be above its request.
func overcommits(name corev1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

func resourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := invalid(path, name, validation.IsQualifiedName(string(name))); len(errs) > 0 {
		return errs
	}
	known := strings.Contains(string(name), "/") || standardResources.Has(name) || isHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
	if known {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be a standard resource type or fully qualified")}
}

func containerResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := resourceName(name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if !containerResources.Has(name) && !isHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	case !isNative(name) && !isExtended(name):
		return append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

func podResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := resourceName(name, path); len(errs) > 0 {
		return errs
	}
	return when(!resourcehelper.IsSupportedPodLevelResource(name),
		field.NotSupported(path, name, sets.List(resourcehelper.SupportedPodLevelResources())))
}

type nameCheck func(corev1.ResourceName, *field.Path) field.ErrorList

// resources checks limits and requests, and that they fit.
// Source: validateResourceRequirements.
func (c *podChecker) resources(r *corev1.ResourceRequirements, name nameCheck, path *field.Path) field.ErrorList {
	limits, requests := path.Child("limits"), path.Child("requests")
	var errs field.ErrorList
	hugePages, computes := false, false
	for _, key := range sorted(r.Limits) {
		errs = append(errs, c.quantity(key, r.Limits[key], name, limits)...)
	}
	for _, key := range sorted(r.Requests) {
		at := requests.Key(string(key))
		errs = join(errs,
			name(key, at),
			amount(key, r.Requests[key], at),
			requestFits(r, key, requests, limits),
			c.wholePages(key, r.Requests[key], at),
		)
	}
	for _, list := range []corev1.ResourceList{r.Limits, r.Requests} {
		for key := range list {
			hugePages = hugePages || isHugePages(key)
			computes = computes || key == corev1.ResourceCPU || key == corev1.ResourceMemory
		}
	}
	return join(errs,
		when(hugePages && !computes, field.Forbidden(path, "HugePages require cpu or memory")),
		c.claimReferences(r.Claims, path.Child("claims")),
	)
}

// sorted are the names of a list, in order.
func sorted(list corev1.ResourceList) []corev1.ResourceName { return slices.Sorted(maps.Keys(list)) }

func (c *podChecker) quantity(key corev1.ResourceName, q resource.Quantity, name nameCheck, list *field.Path) field.ErrorList {
	at := list.Key(string(key))
	return join(name(key, at), amount(key, q, at), c.wholePages(key, q, at))
}

func amount(name corev1.ResourceName, q resource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if q.Sign() < 0 {
		errs = append(errs, field.Invalid(path, q.String(), "must be greater than or equal to 0"))
	}
	if (integerResources.Has(name) || isExtended(name)) && q.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(path, q, "must be an integer"))
	}
	return errs
}

// wholePages wants huge pages in multiples of their size.
func (c *podChecker) wholePages(name corev1.ResourceName, q resource.Quantity, path *field.Path) field.ErrorList {
	if !isHugePages(name) || c.keep.oddHugePages || divides(name, q) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name))}
}

// divides says whether an amount of huge pages is a multiple of their size,
// which is in their name.
func divides(name corev1.ResourceName, q resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	if err != nil || size.Sign() <= 0 || size.MilliValue()%1000 != 0 {
		return false
	}
	return q.Value()%size.Value() == 0
}

func requestFits(r *corev1.ResourceRequirements, name corev1.ResourceName, requests, limits *field.Path) field.ErrorList {
	request, relation := r.Requests[name], ""
	limit, limited := r.Limits[name]
	switch {
	case !limited && !overcommits(name):
		return field.ErrorList{field.Required(limits, "Limit must be set for non overcommitable resources")}
	case !limited:
		return nil
	case request.Cmp(limit) != 0 && !overcommits(name):
		relation = "equal"
	case request.Cmp(limit) > 0:
		relation = "less than or equal"
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(requests, request.String(),
		fmt.Sprintf("must be %s to %s limit of %s", relation, name, limit.String()))}
}

// claimReferences checks the claims a container takes from the pod's. Taking a
// claim whole and taking a part of it as well is taking it twice.
// Source: validateResourceClaimNames.
func (c *podChecker) claimReferences(claims []corev1.ResourceClaim, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := sets.New[string]()
	for i, claim := range claims {
		at, key := path.Index(i), claim.Name
		if claim.Name == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		if !taken.Has(claim.Name) {
			if claim.Request != "" {
				key += "/" + claim.Request
				errs = append(errs, invalid(at.Child("request"), claim.Request, validation.IsDNS1123Label(claim.Request))...)
			}
			errs = append(errs, when(taken.Has(key), field.Duplicate(at, key))...)
			errs = append(errs, partsTaken(taken, claim, at)...)
			taken.Insert(key)
		} else {
			errs = append(errs, field.Duplicate(at, claim.Name))
		}
		errs = append(errs, c.claimExists(claim.Name, at)...)
	}
	return errs
}

func partsTaken(taken sets.Set[string], claim corev1.ResourceClaim, path *field.Path) field.ErrorList {
	if claim.Request != "" {
		return nil
	}
	var errs field.ErrorList
	for _, key := range sets.List(taken) {
		name, _, part := strings.Cut(key, "/")
		errs = append(errs, when(part && name == claim.Name, field.Duplicate(path, claim.Name))...)
	}
	return errs
}

func (c *podChecker) claimExists(name string, path *field.Path) field.ErrorList {
	if c.claims.Has(name) {
		return nil
	}
	err := field.NotFound(path, name)
	err.Detail = "must be one of the names in pod.spec.resourceClaims"
	if len(c.claims) == 0 {
		err.Detail += " which is empty"
	} else {
		err.Detail += ": " + strings.Join(sets.List(c.claims), ", ")
	}
	return field.ErrorList{err}
}

// overhead checks what a pod costs beside its containers, like limits; claims
// do not come into it.
func (c *podChecker) overhead(path *field.Path) field.ErrorList {
	return c.resources(&corev1.ResourceRequirements{Limits: c.spec.Overhead}, containerResourceName, path)
}

func resizePolicies(policies []corev1.ContainerResizePolicy, restart corev1.RestartPolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[corev1.ResourceName]()
	for i, p := range policies {
		errs = join(errs,
			when(seen.Has(p.ResourceName), field.Duplicate(path.Index(i), p.ResourceName)),
			requiredOneOf(path, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory),
			requiredOneOf(path, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer),
			when(restart == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired, field.Invalid(path, p.RestartPolicy,
				"must be 'NotRequired' when pod `restartPolicy` is 'Never'")),
		)
		seen.Insert(p.ResourceName)
	}
	return errs
}

// podResources checks the resources of the pod as a whole, and that the
// containers fit in. Source: validatePodResources.
func (c *podChecker) podResources(path *field.Path) field.ErrorList {
	r := c.spec.Resources
	if r == nil {
		return nil
	}
	if c.spec.OS != nil && c.spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(path, "may not be set for a windows pod")}
	}
	pod := &corev1.Pod{Spec: *c.spec}
	requests := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	limits := resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{})
	maps.DeleteFunc(limits, func(name corev1.ResourceName, _ resource.Quantity) bool { return !isHugePages(name) })
	errs := join(
		when(r.Claims != nil, field.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level")),
		c.resources(r, podResourceName, path),
		covers(r.Requests, requests, "requests", path.Child("requests")),
		covers(r.Limits, limits, "limits", path.Child("limits")),
	)
	for i := range c.spec.Containers {
		errs = append(errs, underPodLimits(r.Limits, c.spec.Containers[i].Resources.Limits, path.Child("containers").Index(i))...)
	}
	return errs
}

// covers wants the pod's amounts to be at least the sums of its containers'.
func covers(pod, sums corev1.ResourceList, what string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sorted(sums) {
		own, set := pod[name]
		sum := sums[name]
		errs = append(errs, when(set && sum.Cmp(own) > 0, field.Invalid(path.Key(string(name)), own.String(),
			fmt.Sprintf("must be greater than or equal to aggregate container %s of %s", what, sum.String())))...)
	}
	return errs
}

func underPodLimits(pod, container corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sorted(container) {
		own, set := pod[name]
		limit := container[name]
		errs = append(errs, when(set && limit.Cmp(own) > 0, field.Invalid(path.Key(string(name)).Child("limits"), limit.String(),
			fmt.Sprintf("must be less than or equal to pod limits of %s", own.String())))...)
	}
	return errs
}
