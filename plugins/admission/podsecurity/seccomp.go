package podsecurity

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// profiles is who sets which seccomp profiles.
type profiles struct {
	podSet bool     // the pod sets one that may be
	bad    string   // who sets one that may not be
	values []string // those
	unset  []string // containers that have none, neither of their own nor the pod's
}

func seccompOf(s subject) (out profiles) {
	values := sets.New[string]()
	forbidden := func(p *corev1.SeccompProfile) bool {
		if p.Type == corev1.SeccompProfileTypeLocalhost || p.Type == corev1.SeccompProfileTypeRuntimeDefault {
			return false
		}
		values.Insert(string(p.Type))
		return true
	}
	pod := s.podContext().SeccompProfile
	badPod := pod != nil && forbidden(pod)
	out.podSet = pod != nil && !badPod
	bad := s.withContext(func(c *corev1.SecurityContext) bool { return c.SeccompProfile != nil && forbidden(c.SeccompProfile) })
	out.bad, out.values = setters(badPod, bad), sets.List(values)
	if !out.podSet {
		out.unset = s.which(func(c *corev1.Container) bool {
			return c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil
		})
	}
	return out
}

func (p profiles) finding() *finding {
	if p.bad == "" {
		return nil
	}
	return &finding{"seccompProfile", fmt.Sprintf("%s must not set securityContext.seccompProfile.type to %s", p.bad, quoted(p.values))}
}

func baselineSeccomp(s subject) *finding {
	if s.minor < 19 {
		return annotatedSeccomp(s)
	}
	return seccompOf(s).finding()
}

// annotatedSeccomp looks at the annotations that came before the field.
func annotatedSeccomp(s subject) *finding {
	const pod, container = "seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/"
	bad := sets.New[string]()
	look := func(key string) {
		v, ok := s.meta.Annotations[key]
		if ok && v != corev1.SeccompProfileRuntimeDefault && v != corev1.DeprecatedSeccompProfileDockerDefault && !strings.HasPrefix(v, corev1.SeccompLocalhostProfileNamePrefix) {
			bad.Insert(fmt.Sprintf("%s=%q", key, v))
		}
	}
	look(pod)
	s.each(func(c *corev1.Container) { look(container + c.Name) })
	if len(bad) == 0 {
		return nil
	}
	return &finding{"seccompProfile", fmt.Sprintf("forbidden %s %s", number("annotation", len(bad)), strings.Join(sets.List(bad), ", "))}
}

func restrictedSeccomp(s subject) *finding {
	if s.minor >= 25 && s.windows() {
		return nil
	}
	p := seccompOf(s)
	if f := p.finding(); f != nil || len(p.unset) == 0 {
		return f
	}
	return &finding{"seccompProfile", fmt.Sprintf(`pod or %s must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`, listed(p.unset))}
}
