package validate

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// osRules checks spec.os and what its choice rules out. Sources: validateOS,
// validateLinux, validateWindows.
func (c *podChecker) osRules(path *field.Path) field.ErrorList {
	if c.spec.OS == nil {
		return nil
	}
	os := path.Child("os")
	switch c.spec.OS.Name {
	case corev1.Linux:
		return c.linux(path)
	case corev1.Windows:
		return c.windows(path)
	case "":
		return field.ErrorList{field.Required(os.Child("name"), "")}
	}
	return oneOf(os, c.spec.OS.Name, corev1.Linux, corev1.Windows)
}

func (c *podChecker) linux(path *field.Path) field.ErrorList {
	const reason = "windows options cannot be set for a linux pod"
	sc := c.spec.SecurityContext
	errs := when(sc != nil && sc.WindowsOptions != nil,
		field.Forbidden(path.Child("securityContext", "windowsOptions"), reason))
	for _, ctr := range everyContainer(c.spec, path) {
		errs = append(errs, when(ctr.SecurityContext != nil && ctr.SecurityContext.WindowsOptions != nil,
			field.Forbidden(ctr.path.Child("securityContext", "windowsOptions"), reason))...)
	}
	return errs
}

// setting is a field and whether it is set.
type setting struct {
	name string
	set  bool
}

func notOnWindows(path *field.Path, settings ...setting) field.ErrorList {
	var errs field.ErrorList
	for _, s := range settings {
		errs = append(errs, when(s.set, field.Forbidden(path.Child(s.name), "cannot be set for a windows pod"))...)
	}
	return errs
}

func (c *podChecker) windows(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if sc := c.spec.SecurityContext; sc != nil {
		errs = notOnWindows(path.Child("securityContext"),
			setting{"appArmorProfile", sc.AppArmorProfile != nil},
			setting{"seLinuxOptions", sc.SELinuxOptions != nil},
			setting{"seccompProfile", sc.SeccompProfile != nil},
			setting{"fsGroup", sc.FSGroup != nil},
			setting{"fsGroupChangePolicy", sc.FSGroupChangePolicy != nil},
			setting{"sysctls", len(sc.Sysctls) > 0},
			setting{"runAsUser", sc.RunAsUser != nil},
			setting{"runAsGroup", sc.RunAsGroup != nil},
			setting{"supplementalGroups", sc.SupplementalGroups != nil},
			setting{"supplementalGroupsPolicy", sc.SupplementalGroupsPolicy != nil},
			setting{"seLinuxChangePolicy", sc.SELinuxChangePolicy != nil},
		)
	}
	errs = append(errs, notOnWindows(path,
		setting{"hostUsers", c.spec.HostUsers != nil},
		setting{"hostPID", c.spec.HostPID},
		setting{"hostIPC", c.spec.HostIPC},
		setting{"shareProcessNamespace", c.spec.ShareProcessNamespace != nil},
	)...)
	for _, ctr := range everyContainer(c.spec, path) {
		errs = append(errs, windowsContainer(ctr.SecurityContext, ctr.path.Child("securityContext"))...)
	}
	return errs
}

func windowsContainer(sc *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if sc == nil {
		return nil
	}
	return notOnWindows(path,
		setting{"appArmorProfile", sc.AppArmorProfile != nil},
		setting{"seLinuxOptions", sc.SELinuxOptions != nil},
		setting{"seccompProfile", sc.SeccompProfile != nil},
		setting{"capabilities", sc.Capabilities != nil},
		setting{"readOnlyRootFilesystem", sc.ReadOnlyRootFilesystem != nil},
		setting{"privileged", sc.Privileged != nil},
		setting{"allowPrivilegeEscalation", sc.AllowPrivilegeEscalation != nil},
		setting{"procMount", sc.ProcMount != nil},
		setting{"runAsUser", sc.RunAsUser != nil},
		setting{"runAsGroup", sc.RunAsGroup != nil},
	)
}

// Sizes of what Windows takes: bytes of a credential spec, characters of a
// domain (exclusive) and of a user (inclusive).
const (
	credentialLimit = 64 * 1024
	domainLimit     = 256
	userLimit       = 104
)

func windowsOptions(o *corev1.WindowsSecurityContextOptions, path *field.Path) field.ErrorList {
	if o == nil {
		return nil
	}
	// The values are pointers, as upstream, which are printed with < > & escaped.
	var errs field.ErrorList
	if name := o.GMSACredentialSpecName; name != nil {
		errs = invalid(path.Child("gmsaCredentialSpecName"), name, validation.IsDNS1123Subdomain(*name))
	}
	if text := o.GMSACredentialSpec; text != nil {
		at := path.Child("gmsaCredentialSpec")
		errs = join(errs,
			when(*text == "", field.Invalid(at, text, "gmsaCredentialSpec cannot be an empty string")),
			when(len(*text) > credentialLimit, field.Invalid(at, text, "gmsaCredentialSpec size must be under 64 KiB")),
		)
	}
	if name := o.RunAsUserName; name != nil {
		errs = append(errs, invalid(path.Child("runAsUserName"), name, windowsUser(*name))...)
	}
	return errs
}

// The forms of a Windows user: [DOMAIN\]USER.
var (
	controlCharacters = regexp.MustCompile(`[[:cntrl:]]+`)
	netBIOSDomain     = regexp.MustCompile(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$`)
	dnsDomain         = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	dotsAndSpaces     = regexp.MustCompile(`^[\. ]+$`)
)

func windowsUser(name string) []string {
	domain, user, hasDomain := strings.Cut(name, `\`)
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case controlCharacters.MatchString(name):
		return []string{"runAsUserName cannot contain control characters"}
	case strings.Contains(user, `\`):
		return []string{"runAsUserName cannot contain more than one backslash"}
	case !hasDomain:
		domain, user = "", name
	}
	var complaints []string
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			complaints = append(complaints, fmt.Sprintf("runAsUserName's "+format, args...))
		}
	}
	complain(len(domain) >= domainLimit, "Domain length must be under %d characters", domainLimit)
	complain(hasDomain && !netBIOSDomain.MatchString(domain) && !dnsDomain.MatchString(domain),
		"Domain doesn't match the NetBios nor the DNS format")
	complain(user == "", "User cannot be empty")
	complain(len(user) > userLimit, "User length must not be longer than %d characters", userLimit)
	complain(dotsAndSpaces.MatchString(user), "User cannot contain only periods or spaces")
	complain(strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`),
		"User cannot contain the following characters: %s", `"/\:;|=,+*?<>@[]`)
	return complaints
}

// hostProcess wants all containers to be host processes if one is, on the
// host's network. Source: validateWindowsHostProcessPod.
func hostProcess(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var pod *bool
	if sc := spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		pod = sc.WindowsOptions.HostProcess
	}
	var errs field.ErrorList
	containers := everyContainer(spec, path)
	count := 0
	for _, ctr := range containers {
		own := pod
		if sc := ctr.SecurityContext; sc != nil && sc.WindowsOptions != nil && sc.WindowsOptions.HostProcess != nil {
			own = sc.WindowsOptions.HostProcess
		}
		if pod != nil && *own != *pod {
			errs = append(errs, field.Invalid(ctr.path.Child("securityContext", "windowsOptions", "hostProcess"), *own,
				fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *pod)))
		}
		if isTrue(own) {
			count++
		}
	}
	return join(errs,
		when(count > 0 && count != len(containers), field.Invalid(path, "",
			"If pod contains any hostProcess containers then all containers must be HostProcess containers")),
		when(count > 0 && !spec.HostNetwork, field.Invalid(path.Child("hostNetwork"), false,
			"hostNetwork must be true if pod contains any hostProcess containers")),
	)
}
