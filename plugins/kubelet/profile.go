package kubelet

import (
	"math/rand/v2"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Never is why a pod does not become ready; empty when it does.
type Never string

// The ways in which pods fail to become ready.
const (
	// Unready pods run and fail their readiness probe.
	Unready Never = "Unready"
	// ImagePull pods stay Pending since their image cannot be pulled.
	ImagePull Never = "ImagePullBackOff"
	// CrashLoop pods exit soon after each start.
	CrashLoop Never = "CrashLoopBackOff"
	// WhileOthers pods run, but are ready only once no pod of another revision
	// of the same owner is left, as those that wait for a lock.
	WhileOthers Never = "WhileOthers"
)

// Range is a duration drawn evenly between two bounds; High below Low means Low.
type Range struct{ Low, High time.Duration }

// Exactly is a range of one value.
func Exactly(d time.Duration) Range { return Range{d, d} }

func (r Range) draw(random *rand.Rand) time.Duration {
	if r.High <= r.Low {
		return r.Low
	}
	return r.Low + time.Duration(random.Int64N(int64(r.High-r.Low)+1))
}

// Profile is how a pod's containers behave. The zero value starts at once,
// ends at once and ends as a process without a SIGTERM handler does: Failed.
type Profile struct {
	// ReadyAfter counts from the binding to the success of the readiness probe.
	ReadyAfter Range
	// ExitAfter counts from SIGTERM to the end of the last container. The
	// pod's grace period bounds it.
	ExitAfter Range
	// Never keeps the pod from becoming ready.
	Never Never
	// IgnoresSIGTERM pods use up their whole grace period.
	IgnoresSIGTERM bool
	// ExitsCleanly pods end with code 0, as Succeeded.
	ExitsCleanly bool
}

// Profiles says how a pod behaves. It is asked once, when its kubelet first
// sees the pod.
type Profiles func(pod *corev1.Pod) Profile

// Rule gives a profile to the pods it matches.
type Rule struct {
	Match   Match
	Profile Profile
}

// Match selects pods: all fields that are set must fit. Patterns are those of path.Match.
type Match struct {
	Namespace string            // exact
	Name      string            // pattern for the pod's name
	Owner     string            // pattern for the name of its controller
	Image     string            // pattern for the image of any container; "*" does not match a slash
	Labels    map[string]string // exact
	// Annotations are the pod's own.
	Annotations map[string]string // exact
}

// Rules is the profile of the first rule that matches, or else the last argument.
func Rules(rules []Rule, otherwise Profile) Profiles {
	return func(pod *corev1.Pod) Profile {
		for _, r := range rules {
			if r.Match.Fits(pod) {
				return r.Profile
			}
		}
		return otherwise
	}
}

// Fits reports whether a pod is one of those selected.
func (m Match) Fits(pod *corev1.Pod) bool {
	return (m.Namespace == "" || m.Namespace == pod.Namespace) &&
		glob(m.Name, pod.Name) && glob(m.Owner, ownerName(pod)) && m.fitsImage(pod) &&
		contains(pod.Labels, m.Labels) && contains(pod.Annotations, m.Annotations)
}

func (m Match) fitsImage(pod *corev1.Pod) bool {
	if m.Image == "" {
		return true
	}
	for i := range pod.Spec.Containers {
		if glob(m.Image, pod.Spec.Containers[i].Image) {
			return true
		}
	}
	return false
}

// glob treats a malformed pattern as one that matches nothing.
func glob(pattern, name string) bool {
	if pattern == "" || pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func contains(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func ownerName(pod *corev1.Pod) string {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return ref.Name
	}
	return ""
}
