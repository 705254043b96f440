package replicaset

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestPodFromTemplate(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: "u", Labels: map[string]string{"mine": "only"}}}
	rs.Spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Name: "ignored", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f/x"},
		},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c"}}},
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", GenerateName: "web-1-", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f/x"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "u", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: rs.Spec.Template.Spec,
	}
	got := podFromTemplate(rs)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamePrefix(t *testing.T) {
	tests := map[string]string{
		"web":                    "web-",
		"web.v1":                 "web.v1-",
		"Web":                    "Web", // no name with this prefix is valid
		strings.Repeat("a", 253): strings.Repeat("a", 253) + "-",
		strings.Repeat("a", 254): strings.Repeat("a", 254),
	}
	for name, want := range tests {
		if got := namePrefix(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The quick selector answers as apimachinery's does.
func TestSelectorsAgree(t *testing.T) {
	some := rapid.MapOfN(rapid.SampledFrom([]string{"app", "tier", "v"}), rapid.SampledFrom([]string{"", "a", "b"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		want, have := some.Draw(t, "want"), some.Draw(t, "have")
		slow, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: want})
		if err != nil {
			t.Fatal(err)
		}
		quick, err := New(rollout.LatestVersion).parseSelector(&metav1.LabelSelector{MatchLabels: want})
		if err != nil {
			t.Fatal(err)
		}
		if slow.Matches(labels.Set(have)) != quick.Matches(labels.Set(have)) || slow.Empty() != quick.Empty() || slow.String() != quick.String() {
			t.Fatalf("%q on %v: %v", slow, have, quick.Matches(labels.Set(have)))
		}
	})
}

func TestSelectorsAtTheEdges(t *testing.T) {
	none, err := New(rollout.LatestVersion).parseSelector(nil)
	if err != nil || none.Matches(labels.Set{"a": "b"}) {
		t.Errorf("no selector matches nothing: %v", err)
	}
	if _, err := New(rollout.LatestVersion).parseSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"a": "not valid!"}}); err == nil {
		t.Error("an invalid value is an error")
	}
	expr, err := New(rollout.LatestVersion).parseSelector(&metav1.LabelSelector{
		MatchLabels:      map[string]string{"a": "b"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpDoesNotExist}},
	})
	if err != nil || !expr.Matches(labels.Set{"a": "b"}) || expr.Matches(labels.Set{"a": "b", "c": "d"}) {
		t.Errorf("expressions count as well: %v", err)
	}
}
