package validate

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
)

// podSecurity checks the security context of the pod. Source: validatePodSpecSecurityContext.
func (c *podChecker) podSecurity(path *field.Path) field.ErrorList {
	sc := c.spec.SecurityContext
	if sc == nil {
		return nil
	}
	errs := join(
		groupID(path.Child("fsGroup"), sc.FSGroup),
		userID(path.Child("runAsUser"), sc.RunAsUser),
		groupID(path.Child("runAsGroup"), sc.RunAsGroup),
	)
	for i := range sc.SupplementalGroups {
		errs = append(errs, groupID(path.Child("supplementalGroups").Index(i), &sc.SupplementalGroups[i])...)
	}
	errs = append(errs, c.sysctls(path.Child("sysctls"))...)
	if sc.FSGroupChangePolicy != nil {
		errs = append(errs, oneOf(path.Child("fsGroupChangePolicy"), *sc.FSGroupChangePolicy,
			corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	}
	errs = join(errs,
		seccomp(sc.SeccompProfile, path.Child("seccompProfile")),
		windowsOptions(sc.WindowsOptions, path.Child("windowsOptions")),
		appArmor(sc.AppArmorProfile, path.Child("appArmorProfile")),
	)
	if sc.SupplementalGroupsPolicy != nil {
		errs = append(errs, oneOf(path.Child("supplementalGroupsPolicy"), *sc.SupplementalGroupsPolicy,
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if sc.SELinuxChangePolicy != nil {
		errs = append(errs, oneOf(path.Child("seLinuxChangePolicy"), *sc.SELinuxChangePolicy,
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	return errs
}

const sysctlLimit = 253

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func (c *podChecker) sysctls(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, s := range c.spec.SecurityContext.Sysctls {
		at := path.Index(i).Child("name")
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(at, ""))
		case len(s.Name) > sysctlLimit || !sysctlName.MatchString(s.Name):
			errs = append(errs, field.Invalid(at, s.Name,
				fmt.Sprintf("must have at most %d characters and match regex %s", sysctlLimit, sysctlName)))
		case seen.Has(s.Name):
			errs = append(errs, field.Duplicate(at, s.Name))
		}
		if !c.keep.hostSysctls {
			errs = append(errs, c.hostSysctl(s.Name, at)...)
		}
		seen.Insert(s.Name)
	}
	return errs
}

// hostSysctls are those that would change the host's own settings.
func (c *podChecker) hostSysctls(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, s := range c.spec.SecurityContext.Sysctls {
		errs = append(errs, c.hostSysctl(s.Name, path)...)
	}
	return errs
}

func (c *podChecker) hostSysctl(name string, path *field.Path) field.ErrorList {
	switch namespace, _, _ := sysctl.GetNamespace(name); {
	case c.spec.HostNetwork && namespace == sysctl.NetNamespace:
		return field.ErrorList{field.Invalid(path, name, "may not be specified when 'hostNetwork' is true")}
	case c.spec.HostIPC && namespace == sysctl.IPCNamespace:
		return field.ErrorList{field.Invalid(path, name, "may not be specified when 'hostIPC' is true")}
	}
	return nil
}

// security checks the security context of a container; privileged ones are
// allowed, as clusters are commonly set up. Source: ValidateSecurityContext.
func (c *podChecker) security(sc *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if sc == nil {
		return nil
	}
	errs := join(
		userID(path.Child("runAsUser"), sc.RunAsUser),
		groupID(path.Child("runAsGroup"), sc.RunAsGroup),
	)
	if mount := sc.ProcMount; mount != nil {
		at := path.Child("procMount")
		errs = join(errs,
			oneOf(at, *mount, corev1.DefaultProcMount, corev1.UnmaskedProcMount),
			when(c.hostUsers() && *mount == corev1.UnmaskedProcMount,
				field.Invalid(at, *mount, "`hostUsers` must be false to use `Unmasked`")),
		)
	}
	return join(errs,
		seccomp(sc.SeccompProfile, path.Child("seccompProfile")),
		c.escalation(sc, path),
		windowsOptions(sc.WindowsOptions, path.Child("windowsOptions")),
		appArmor(sc.AppArmorProfile, path.Child("appArmorProfile")),
	)
}

// escalation refuses to give what allowPrivilegeEscalation: false takes away.
func (c *podChecker) escalation(sc *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation {
		return nil
	}
	errs := when(isTrue(sc.Privileged), field.Invalid(path, internal{sc},
		"cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
	if c.keep.sysAdmin {
		return errs
	}
	for range addsSysAdmin(sc.Capabilities) {
		errs = append(errs, field.Invalid(path, internal{sc},
			"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
	}
	return errs
}

// addsSysAdmin counts how often CAP_SYS_ADMIN is added, under this name only.
func addsSysAdmin(caps *corev1.Capabilities) int {
	count := 0
	if caps == nil {
		return count
	}
	for _, name := range caps.Add {
		if name == "CAP_SYS_ADMIN" {
			count++
		}
	}
	return count
}

func seccomp(p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if p.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "type is required when seccompProfile is set"))
	} else {
		errs = oneOf(path.Child("type"), p.Type, corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	at := path.Child("localhostProfile")
	switch local := p.Type == corev1.SeccompProfileTypeLocalhost; {
	case local && p.LocalhostProfile == nil:
		errs = append(errs, field.Required(at, "must be set when seccomp type is Localhost"))
	case local:
		errs = append(errs, relativePath(*p.LocalhostProfile, at)...)
	case p.LocalhostProfile != nil:
		errs = append(errs, field.Invalid(at, internal{p}, "can only be set when seccomp type is Localhost"))
	}
	return errs
}

// The longest path of a profile.
const profilePathLimit = 4095

func appArmor(p *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	at := path.Child("localhostProfile")
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		return appArmorFile(p.LocalhostProfile, at)
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		return when(p.LocalhostProfile != nil,
			field.Invalid(at, p.LocalhostProfile, "can only be set when AppArmor type is Localhost"))
	case "":
		return field.ErrorList{field.Required(path.Child("type"), "type is required when appArmorProfile is set")}
	}
	return oneOf(path.Child("type"), p.Type, corev1.AppArmorProfileTypeLocalhost,
		corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
}

func appArmorFile(file *string, path *field.Path) field.ErrorList {
	if file == nil || *file == "" {
		return field.ErrorList{field.Required(path, "must be set when AppArmor type is Localhost")}
	}
	return join(
		when(strings.TrimSpace(*file) != *file, field.Invalid(path, *file, "must not be padded with whitespace")),
		when(len(*file) > profilePathLimit, field.TooLong(path, "", profilePathLimit)),
	)
}
