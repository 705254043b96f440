package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// What kubectl apply does with replicas depends on what was applied before:
// dropping them from the manifest resets them only when they were in it.
func TestApplyMerges(t *testing.T) {
	live := func() *appsv1.Deployment {
		d := web()
		d.Spec.Replicas = ptr.To(int32(8)) // an autoscaler's
		d.Spec.MinReadySeconds = 5
		d.Labels = map[string]string{"by": "others"}
		return d
	}
	wanted := web()
	wanted.Annotations = nil
	applied := wanted.DeepCopy()
	wanted.Spec.Replicas = nil
	tests := []struct {
		name     string
		before   manifest.Object
		applied  string // annotation of the live object
		replicas *int32
	}{
		{name: "applied before with replicas", before: applied, replicas: nil},
		{name: "applied before without", before: wanted, replicas: ptr.To(int32(8))},
		{name: "annotation with replicas", applied: `{"spec":{"replicas":3}}`, replicas: nil},
		{name: "annotation without", applied: `{"spec":{}}`, replicas: ptr.To(int32(8))},
		{name: "never applied", replicas: ptr.To(int32(8))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			current := live()
			if test.applied != "" {
				metav1.SetMetaDataAnnotation(&current.ObjectMeta, corev1.LastAppliedConfigAnnotation, test.applied)
			}
			next := wanted.DeepCopy()
			next.Spec.Template.Spec.Containers[1].Image = "log:v4"
			next.Status.Replicas = 99
			out, err := Apply(current, next, test.before)
			if err != nil {
				t.Fatal(err)
			}
			got := out.(*appsv1.Deployment)
			if !ptr.Equal(got.Spec.Replicas, test.replicas) {
				t.Errorf("replicas %v, want %v", got.Spec.Replicas, test.replicas)
			}
			if got.Spec.MinReadySeconds != 5 || got.Labels["by"] != "others" || got.Annotations["deployment.kubernetes.io/revision"] == "" {
				t.Errorf("what others set is gone: %v %v %v", got.Spec.MinReadySeconds, got.Labels, got.Annotations)
			}
			if got.Spec.Template.Spec.Containers[1].Image != "log:v4" || got.Spec.Template.Spec.Containers[0].Image != "app:v3" {
				t.Errorf("containers %v", got.Spec.Template.Spec.Containers)
			}
			if got.Status.Replicas == 99 {
				t.Error("the manifest's status got through")
			}
		})
	}
}

// What apply has remembered of a manifest is what the next one is compared with,
// and remembering the same manifest again changes nothing.
func TestRemember(t *testing.T) {
	wanted := web()
	wanted.Spec.Replicas = ptr.To(int32(3))
	live := wanted.DeepCopy()
	live.Annotations = map[string]string{"by": "others"}
	first, err := Remember(live, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if live.Annotations[corev1.LastAppliedConfigAnnotation] != "" || first.GetAnnotations()["by"] != "others" {
		t.Errorf("annotations before %v, after %v", live.Annotations, first.GetAnnotations())
	}
	again, err := Remember(first, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	without := wanted.DeepCopy()
	without.Spec.Replicas = nil
	out, err := Apply(first, without, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := out.(*appsv1.Deployment).Spec.Replicas; n != nil {
		t.Errorf("replicas dropped from the manifest stay at %d", *n)
	}
}
