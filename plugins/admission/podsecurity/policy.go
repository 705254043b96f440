// Package podsecurity is the Pod Security Standards: what is wrong with a pod
// under the policy of a level and a version (k8s.io/pod-security-admission/policy).
package podsecurity

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Level is how strict a policy is.
type Level string

// The levels.
const (
	Privileged Level = "privileged"
	Baseline   Level = "baseline"
	Restricted Level = "restricted"
)

// The labels by which a namespace asks for a policy.
const (
	EnforceLabel        = "pod-security.kubernetes.io/enforce"
	EnforceVersionLabel = "pod-security.kubernetes.io/enforce-version"
)

// Policy is a level as of a release.
type Policy struct {
	Level Level
	// Minor is N of v1.N; negative means the latest.
	Minor int
}

// String is restricted:latest or baseline:v1.24.
func (p Policy) String() string {
	if p.Minor < 0 {
		return string(p.Level) + ":latest"
	}
	return fmt.Sprintf("%s:v1.%d", p.Level, p.Minor)
}

// Enforced is the policy that a namespace's labels ask for. A word that is
// none of the levels means restricted, and one that is no version the latest
// (pod-security-admission/api PolicyToEvaluate).
func Enforced(labels map[string]string) Policy {
	p := Policy{Privileged, -1}
	if level, ok := labels[EnforceLabel]; ok {
		switch p.Level = Level(level); p.Level {
		case Privileged, Baseline, Restricted:
		default:
			p.Level = Restricted
		}
	}
	digits, isVersion := strings.CutPrefix(labels[EnforceVersionLabel], "v1.")
	if n, err := strconv.ParseUint(digits, 10, 63); isVersion && err == nil && strconv.FormatUint(n, 10) == digits {
		p.Minor = int(n)
	}
	return p
}

// finding is what one check has against a pod.
type finding struct{ reason, detail string }

func (f *finding) String() string {
	if f.detail == "" {
		return f.reason
	}
	return f.reason + " (" + f.detail + ")"
}

// subject is a pod under a policy of a minor version.
type subject struct {
	meta  *metav1.ObjectMeta
	spec  *corev1.PodSpec
	minor int
}

// check looks at one aspect of a pod.
type check struct {
	level Level
	since int // minor version
	run   func(subject) *finding
	// instead is when the restricted level no longer runs this baseline check, since it has a
	// stricter one; negative is never.
	instead int
}

// checks are in the order in which findings are told: baseline first, by their upstream IDs.
var checks = []check{
	{Baseline, 0, appArmor, -1},
	{Baseline, 0, baselineCapabilities, 22},
	{Baseline, 0, hostNamespaces, -1},
	{Baseline, 0, hostPaths, 0},
	{Baseline, 0, hostPorts, -1},
	{Baseline, 34, probeHosts, -1},
	{Baseline, 0, privileged, -1},
	{Baseline, 0, baselineProcMount, 35},
	{Baseline, 0, seLinux, -1},
	{Baseline, 0, baselineSeccomp, 19},
	{Baseline, 0, sysctls, -1},
	{Baseline, 0, hostProcess, -1},
	{Restricted, 8, privilegeEscalation, -1},
	{Restricted, 22, restrictedCapabilities, -1},
	{Restricted, 35, procMount, -1},
	{Restricted, 0, volumes, -1},
	{Restricted, 0, runAsNonRoot, -1},
	{Restricted, 23, runAsUser, -1},
	{Restricted, 19, restrictedSeccomp, -1},
}

// Violations says what is wrong with a pod under a policy in a cluster of
// release v1.newest, as the API server words it; empty when nothing is.
func Violations(p Policy, newest int, meta *metav1.ObjectMeta, spec *corev1.PodSpec) string {
	if p.Level == Privileged {
		return ""
	}
	s := subject{meta, spec, p.Minor}
	if s.minor < 0 || s.minor > newest {
		s.minor = newest
	}
	var out []string
	for _, c := range checks {
		if c.level == Restricted && p.Level != Restricted || s.minor < c.since {
			continue
		}
		if p.Level == Restricted && c.instead >= 0 && s.minor >= c.instead {
			continue
		}
		if f := c.run(s); f != nil {
			out = append(out, f.String())
		}
	}
	return strings.Join(out, ", ")
}

// each visits all containers.
func (s subject) each(visit func(c *corev1.Container)) {
	for i := range s.spec.InitContainers {
		visit(&s.spec.InitContainers[i])
	}
	for i := range s.spec.Containers {
		visit(&s.spec.Containers[i])
	}
	for i := range s.spec.EphemeralContainers {
		visit((*corev1.Container)(&s.spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// which names the containers of a kind.
func (s subject) which(bad func(*corev1.Container) bool) (names []string) {
	s.each(func(c *corev1.Container) {
		if bad(c) {
			names = append(names, c.Name)
		}
	})
	return names
}

// withContext names the containers whose security context is of a kind.
func (s subject) withContext(bad func(*corev1.SecurityContext) bool) []string {
	return s.which(func(c *corev1.Container) bool { return c.SecurityContext != nil && bad(c.SecurityContext) })
}

// podContext is the pod's security context, an empty one where it has none.
func (s subject) podContext() *corev1.PodSecurityContext {
	if s.spec.SecurityContext == nil {
		return &corev1.PodSecurityContext{}
	}
	return s.spec.SecurityContext
}

func (s subject) windows() bool { return s.spec.OS != nil && s.spec.OS.Name == corev1.Windows }

// ownUsers says that the pod's users are not the host's, in releases whose
// policies take that into account.
func (s subject) ownUsers() bool {
	return s.minor >= 35 && s.spec.HostUsers != nil && !*s.spec.HostUsers
}

// setters are those who set something: pod and containers "a", "b".
func setters(pod bool, containers []string) string {
	var who []string
	if pod {
		who = append(who, "pod")
	}
	if len(containers) > 0 {
		who = append(who, listed(containers))
	}
	return strings.Join(who, " and ")
}

func listed(containers []string) string {
	return number("container", len(containers)) + " " + quoted(containers)
}

func quoted(items []string) string { return `"` + strings.Join(items, `", "`) + `"` }

// number is a word in the singular for one and in the plural for others.
func number(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func use(n int) string {
	if n == 1 {
		return "uses"
	}
	return "use"
}
