package worlds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestSamePodSpec: the quick comparison says what the slow one says.
func TestSamePodSpec(t *testing.T) {
	asks := func(cpu string) corev1.PodSpec {
		s := template("web", "1").Spec
		s.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		return s
	}
	with := func(change func(*corev1.PodSpec)) corev1.PodSpec {
		s := asks("1")
		change(&s)
		return s
	}
	tests := map[string]struct {
		other corev1.PodSpec
		want  bool
	}{
		"the same":             {asks("1"), true},
		"in other words":       {asks("1000m"), true},
		"more":                 {asks("2"), false},
		"an empty list":        {with(func(s *corev1.PodSpec) { s.Volumes = []corev1.Volume{} }), true},
		"an empty map":         {with(func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{} }), true},
		"an empty struct":      {with(func(s *corev1.PodSpec) { s.SecurityContext = &corev1.PodSecurityContext{} }), false},
		"a pointer to nothing": {with(func(s *corev1.PodSpec) { s.TerminationGracePeriodSeconds = new(int64(0)) }), false},
		"another image":        {with(func(s *corev1.PodSpec) { s.Containers[0].Image = "other" }), false},
	}
	for name, test := range tests {
		if got := samePodSpec(asks("1"), test.other); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		if got := slowly.DeepEqual(asks("1"), test.other); got != test.want {
			t.Errorf("%s, by reflection: %v, want %v", name, got, test.want)
		}
	}
}
