package change

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// Each verb alone sends what kubectl sends; several are one patch.
func TestRequest(t *testing.T) {
	three, revision := int32(3), int64(0)
	before := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"a": "1"}}}
	before.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:1"}, {Name: "side", Image: "side:1"}}
	changed := func(change func(*appsv1.Deployment)) manifest.Object {
		d := before.DeepCopy()
		change(d)
		return d
	}
	image := changed(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "app:2" })
	both := changed(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "app:2"
		d.Spec.Paused = true
	})
	const imagePatch = `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"app"},{"name":"side"}],"containers":[{"image":"app:2","name":"app"}]}}}}`
	for name, test := range map[string]struct {
		set   Set
		after manifest.Object
		want  string // type, subresource, manager, data
	}{
		"image":    {Set{Images: []Image{{"app", "app:2"}}}, image, "application/strategic-merge-patch+json  kubectl-set " + imagePatch},
		"replicas": {Set{Replicas: &three}, before, `application/merge-patch+json scale  {"spec":{"replicas":3}}`},
		"patch":    {Set{Patch: []byte("spec: {paused: true}"), PatchType: Merge}, before, `application/merge-patch+json  kubectl-patch {"spec":{"paused":true}}`},
		"several": {Set{Images: []Image{{"app", "app:2"}}, Pause: true}, both, "application/strategic-merge-patch+json  kubectl-rollout " +
			`{"spec":{"paused":true,"template":{"spec":{"$setElementOrder/containers":[{"name":"app"},{"name":"side"}],"containers":[{"image":"app:2","name":"app"}]}}}}`},
		"nothing": {Set{Restart: true}, before, "application/strategic-merge-patch+json  kubectl-rollout {}"},
		"undo": {Set{Undo: &revision}, image, "application/json-patch+json  kubectl-rollout " +
			`[{"op":"replace","path":"/spec/template","value":{"metadata":{},"spec":{"containers":[{"name":"app","image":"app:2","resources":{}},{"name":"side","image":"side:1","resources":{}}]}}},` +
			`{"op":"replace","path":"/metadata/annotations","value":{"a":"1"}}]`},
	} {
		got, err := test.set.Request(before, test.after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := string(got.Type) + " " + got.Subresource + " " + got.FieldManager + " " + string(got.Data); text != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, text, test.want)
		}
	}
}
