package rollout

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// TestLikeness draws Deployments and ReplicaSets that share templates or parts
// of them, and asks about them again and again: what is remembered is always
// what a comparison says.
func TestLikeness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Likeness
		templates := []corev1.PodTemplateSpec{{}}
		for i := range 4 {
			templates = append(templates, templateOf(fmt.Sprint("image", i%2)))
		}
		pick := func(what string) corev1.PodTemplateSpec {
			out := rapid.SampledFrom(templates).Draw(t, what) // sharing all parts
			switch rapid.IntRange(0, 3).Draw(t, what+" differs in") {
			case 0:
				out.Labels = map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: "x"}
			case 1:
				out.Annotations = map[string]string{"a": rapid.SampledFrom([]string{"1", "2"}).Draw(t, what+" note")}
			case 2:
				out = *out.DeepCopy()
			}
			return out
		}
		for round := range 10 {
			d := &appsv1.Deployment{}
			d.Spec.Template = pick("template")
			var owned []*appsv1.ReplicaSet
			for i := range 3 {
				rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i)}}
				rs.Spec.Template = pick("old template")
				owned = append(owned, rs)
			}
			want, got := Split(d, owned), l.Split(d, owned)
			if want.New != got.New || !slices.Equal(want.Old, got.Old) {
				t.Fatalf("round %d: new is %v, not %v", round, got.New, want.New)
			}
		}
	})
}

func templateOf(image string) corev1.PodTemplateSpec {
	var out corev1.PodTemplateSpec
	out.Labels = map[string]string{"app": "web"}
	out.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	return out
}

// TestLikenessForgets: what is remembered does not grow without end.
func TestLikenessForgets(t *testing.T) {
	var l Likeness
	a := templateOf("a")
	for range mostCouples + 10 {
		b := templateOf("a")
		if !l.alike(&a, &b) {
			t.Fatal("alike templates differ")
		}
	}
	if len(l.known) > mostCouples {
		t.Errorf("%d comparisons are remembered", len(l.known))
	}
}

// TestSelectors reads each selector as metav1 does, the first time and later.
func TestSelectors(t *testing.T) {
	var s Selectors
	for range 2 {
		for _, from := range []*metav1.LabelSelector{
			nil, {}, {MatchLabels: map[string]string{"app": "web"}}, {MatchLabels: map[string]string{"app": "not valid!"}},
			{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}},
		} {
			for range 2 {
				want, wantErr := metav1.LabelSelectorAsSelector(from)
				got, err := s.Read(from)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) || wantErr == nil && got.String() != want.String() {
					t.Errorf("%v is read as %v, %v, not %v, %v", from, got, err, want, wantErr)
				}
			}
		}
	}
}
