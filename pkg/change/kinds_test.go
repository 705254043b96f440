package change

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestApplyToOtherKinds: an image or a patch fits a Pod as well, and what no
// kind but a workload has is an error.
func TestApplyToOtherKinds(t *testing.T) {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:v1"}}},
	}
	set := Set{Images: []Image{{"app", "app:v2"}}, Patch: []byte(`{"metadata": {"labels": {"app": "debug"}}}`)}
	result, err := set.Apply(Input{Object: pod})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := result.Object.(*corev1.Pod)
	if !ok || got.Spec.Containers[0].Image != "app:v2" || got.Labels["app"] != "debug" || got.Kind != "Pod" {
		t.Errorf("got %#v", result.Object)
	}
	if pod.Spec.Containers[0].Image != "app:v1" {
		t.Error("the pod that was given has changed")
	}
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	for want, set := range map[string]Set{
		"Node/n1 has no containers": {Images: []Image{{"*", "app:v2"}}},
		"Node/n1 cannot be scaled":  {Replicas: ptr.To(int32(2))},
	} {
		if _, err := set.Apply(Input{Object: node}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
