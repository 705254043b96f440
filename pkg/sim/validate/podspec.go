package validate

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// check looks at the whole spec, in upstream's order. Source: ValidatePodSpec.
func (c *podChecker) check(path *field.Path) field.ErrorList {
	spec := c.spec
	c.claims = sets.New[string]()
	for _, claim := range spec.ResourceClaims {
		if claim.Name != "" {
			c.claims.Insert(claim.Name)
		}
	}
	return join(
		when(spec.TerminationGracePeriodSeconds == nil,
			field.Required(path.Child("terminationGracePeriodSeconds"), "")),
		c.checkVolumes(path.Child("volumes")),
		c.resourceClaims(path.Child("resourceClaims")),
		c.containers(path.Child("containers")),
		c.initContainers(path.Child("initContainers")),
		c.ephemeralContainers(path.Child("ephemeralContainers")),
		c.podResources(path.Child("resources")),
		c.hostNetworkPorts(path.Child("containers")),
		requiredOneOf(path.Child("restartPolicy"), spec.RestartPolicy,
			corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		requiredOneOf(path.Child("dnsPolicy"), spec.DNSPolicy,
			corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone),
		labels(spec.NodeSelector, path.Child("nodeSelector")),
		c.podSecurity(path.Child("securityContext")),
		when(spec.HostPID && isTrue(spec.ShareProcessNamespace),
			field.Invalid(path.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled")),
		c.affinity(path.Child("affinity")),
		dnsConfig(spec, path.Child("dnsConfig")),
		gates(spec, path),
		c.spreadConstraints(path.Child("topologySpreadConstraints")),
		hostProcess(spec, path),
		c.userNamespace(path),
		hostnameOverride(spec, path),
		c.names(path),
		c.osRules(path),
		fileKeyVolumes(spec, path),
	)
}

// names is the second half of the spec: mostly the forms of names.
func (c *podChecker) names(path *field.Path) field.ErrorList {
	spec := c.spec
	account := path.Child("serviceAccountName")
	return join(
		optionalAnd(account, spec.ServiceAccountName, subdomain),
		when(spec.DeprecatedServiceAccount != spec.ServiceAccountName,
			field.Invalid(path.Child("deprecatedServiceAccount"), spec.DeprecatedServiceAccount,
				fmt.Sprintf("must be the same as serviceAccountName: %q", spec.ServiceAccountName))),
		optionalAnd(path.Child("nodeName"), spec.NodeName, subdomain),
		activeDeadline(spec.ActiveDeadlineSeconds, path.Child("activeDeadlineSeconds")),
		optionalAnd(path.Child("hostname"), spec.Hostname, validation.IsDNS1123Label),
		optionalAnd(path.Child("subdomain"), spec.Subdomain, validation.IsDNS1123Label),
		tolerations(spec.Tolerations, c.keep.comparingTolerations, path.Child("tolerations")),
		hostAliases(spec.HostAliases, path.Child("hostAliases")),
		optionalAnd(path.Child("priorityClassName"), spec.PriorityClassName, subdomain),
		pointed(path.Child("runtimeClassName"), spec.RuntimeClassName, subdomain),
		preemption(spec.PreemptionPolicy, path.Child("preemptionPolicy")),
		c.overhead(path.Child("overhead")),
	)
}

// pointed has the form of a text checked when there is one, be it empty.
func pointed(path *field.Path, value *string, check func(string) []string) field.ErrorList {
	if value == nil {
		return nil
	}
	return invalid(path, *value, check(*value))
}

func isTrue(b *bool) bool { return b != nil && *b }

func activeDeadline(seconds *int64, path *field.Path) field.ErrorList {
	if seconds == nil || (*seconds >= 1 && *seconds <= math.MaxInt32) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *seconds, validation.InclusiveRangeError(1, math.MaxInt32))}
}

func preemption(policy *corev1.PreemptionPolicy, path *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	return requiredOneOf(path, *policy, corev1.PreemptLowerPriority, corev1.PreemptNever)
}

func hostAliases(aliases []corev1.HostAlias, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, alias := range aliases {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i).Child("ip"), alias.IP, true, nil)...)
		for j, name := range alias.Hostnames {
			errs = append(errs, invalid(path.Index(i).Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name))...)
		}
	}
	return errs
}

// hostNetworkPorts wants equal ports under hostNetwork. A template may leave
// the host port out, since the pod gets it filled in.
func (c *podChecker) hostNetworkPorts(path *field.Path) field.ErrorList {
	if !c.spec.HostNetwork {
		return nil
	}
	var errs field.ErrorList
	for i := range c.spec.Containers {
		for j, port := range c.spec.Containers[i].Ports {
			if port.HostPort == port.ContainerPort || (port.HostPort == 0 && !c.isPod()) {
				continue
			}
			errs = append(errs, field.Invalid(path.Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort,
				"must match `containerPort` when `hostNetwork` is true"))
		}
	}
	return errs
}

// gates is the readiness gates and the scheduling gates.
func gates(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range spec.ReadinessGates {
		name := string(gate.ConditionType)
		at := path.Child("readinessGates").Index(i).Child("conditionType")
		errs = append(errs, invalid(at, name, validation.IsQualifiedName(name))...)
	}
	seen := sets.New[string]()
	for i, gate := range spec.SchedulingGates {
		at := path.Child("schedulingGates").Index(i)
		errs = append(errs, invalid(at, gate.Name, validation.IsQualifiedName(gate.Name))...)
		errs = append(errs, when(seen.Has(gate.Name), field.Duplicate(at, gate.Name))...)
		seen.Insert(gate.Name)
	}
	return errs
}

// What a resolver takes: name servers, search paths, and characters of them
// with the spaces between.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

func dnsConfig(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	config, servers, searches := spec.DNSConfig, path.Child("nameservers"), path.Child("searches")
	switch none := spec.DNSPolicy == corev1.DNSNone; {
	case none && config == nil:
		return field.ErrorList{field.Required(path, "must provide `dnsConfig` when `dnsPolicy` is None")}
	case config == nil:
		return nil
	case none && len(config.Nameservers) == 0:
		return field.ErrorList{field.Required(servers, "must provide at least one DNS nameserver when `dnsPolicy` is None")}
	}
	errs := when(len(config.Nameservers) > maxNameservers,
		field.Invalid(servers, config.Nameservers, fmt.Sprintf("must not have more than %d nameservers", maxNameservers)))
	for i, server := range config.Nameservers {
		errs = append(errs, validation.IsValidIPForLegacyField(servers.Index(i), server, true, nil)...)
	}
	errs = join(errs,
		when(len(config.Searches) > maxSearches,
			field.Invalid(searches, config.Searches, fmt.Sprintf("must not have more than %d search paths", maxSearches))),
		when(len(strings.Join(config.Searches, " ")) > maxSearchChars,
			field.Invalid(searches, config.Searches,
				fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", maxSearchChars))),
	)
	for i, search := range config.Searches {
		if domain := strings.TrimSuffix(search, "."); search != "." {
			errs = append(errs, invalid(searches.Index(i), domain, validation.IsDNS1123SubdomainWithUnderscore(domain))...)
		}
	}
	for i, option := range config.Options {
		errs = append(errs, when(option.Name == "", field.Required(path.Child("options").Index(i), "must not be empty"))...)
	}
	return errs
}

// userNamespace is what a pod with users of its own may not share with its host.
func (c *podChecker) userNamespace(path *field.Path) field.ErrorList {
	if c.hostUsers() {
		return nil
	}
	const reason = "when `hostUsers` is false"
	errs := join(
		when(c.spec.HostNetwork && !c.keep.userNamespaceHostNetwork, field.Forbidden(path.Child("hostNetwork"), reason)),
		when(c.spec.HostPID, field.Forbidden(path.Child("HostPID"), reason)),
		when(c.spec.HostIPC, field.Forbidden(path.Child("HostIPC"), reason)),
	)
	if c.keep.userNamespaceDevices {
		return errs
	}
	for _, ctr := range everyContainer(c.spec, path) {
		errs = append(errs, when(len(ctr.VolumeDevices) > 0, field.Forbidden(ctr.path.Child("volumeDevices"), reason))...)
	}
	return errs
}

func hostnameOverride(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	if spec.HostnameOverride == nil {
		return nil
	}
	name, at := *spec.HostnameOverride, path.Child("hostnameOverride")
	return join(
		when(isTrue(spec.SetHostnameAsFQDN), field.Forbidden(at, "may not be specified when setHostnameAsFQDN is true")),
		when(spec.HostNetwork, field.Forbidden(at, "may not be specified when hostNetwork is true")),
		when(len(name) > 64, field.TooLong(at, "", 64)),
		invalid(at, name, validation.IsDNS1123Subdomain(name)),
	)
}
