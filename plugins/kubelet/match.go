package kubelet

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
