package change

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

var now = time.Date(2026, 1, 1, 10, 0, 0, 500_000_000, time.UTC)

func web() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Annotations: map[string]string{"deployment.kubernetes.io/revision": "3", "mine": "now"}},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(int32(3)), Template: template3("v3")},
	}
}

func template3(tag string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Image: "init:" + tag}},
			Containers:     []corev1.Container{{Name: "app", Image: "app:" + tag}, {Name: "log", Image: "log:" + tag}},
		},
	}
}

func set(name, revision, tag string, age int64) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", CreationTimestamp: metav1.Unix(age, 0),
			Annotations: map[string]string{"deployment.kubernetes.io/revision": revision, "deployment.kubernetes.io/desired-replicas": "3", "mine": tag}},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(0)), Template: template3(tag)},
	}
	rs.Spec.Template.Labels["pod-template-hash"] = name
	return rs
}

func history() []*appsv1.ReplicaSet {
	return []*appsv1.ReplicaSet{set("web-3", "3", "v3", 3), set("web-1", "1", "v1", 1), set("web-2", "2", "v2", 2), set("web-x", "x", "vx", 4)}
}

func paused(d *appsv1.Deployment) *appsv1.Deployment {
	d.Spec.Paused = true
	return d
}

func applied(d *appsv1.Deployment) *appsv1.Deployment {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1.LastAppliedConfigAnnotation, "{}")
	return d
}

// TestApply compares the changed lines of the object, each with kubectl's behaviour.
func TestApply(t *testing.T) {
	tests := []struct {
		name string
		set  Set
		in   manifest.Object
		want string // changed lines of the YAML, trimmed and joined
		warn string
		err  string
	}{
		{name: "one image", set: Set{Images: []Image{{"app", "app:v4"}}}, want: "- image: app:v3 / + image: app:v4"},
		{name: "an init container's image", set: Set{Images: []Image{{"init", "i"}}}, want: "- image: init:v3 / + image: i"},
		{name: "all images", set: Set{Images: []Image{{"*", "x"}}}, want: "- image: app:v3 / + image: x / - image: log:v3 / + image: x / - image: init:v3 / + image: x"},
		{name: "no such container", set: Set{Images: []Image{{"ap\x1bp", "x"}}}, err: `unable to find container named "ap\x1bp"`},
		{name: "image of a ReplicaSet", set: Set{Images: []Image{{"app", "x"}}}, in: set("web-1", "1", "v1", 1), want: "- image: app:v1 / + image: x"},
		{name: "scale", set: Set{Replicas: ptr.To(int32(7))}, want: "- replicas: 3 / + replicas: 7"},
		{name: "restart", set: Set{Restart: true}, want: `+ annotations: / + kubectl.kubernetes.io/restartedAt: "2026-01-01T10:00:00Z"`},
		{name: "restart while paused", set: Set{Restart: true}, in: paused(web()), err: `deployments.apps "web" can't restart paused deployment (run rollout resume first)`},
		{name: "restart a ReplicaSet", set: Set{Restart: true}, in: set("web-1", "1", "v1", 1), err: `replicasets.apps "web-1" restarting is not supported`},
		{name: "resume, then restart", set: Set{Restart: true, Resume: true}, in: paused(web()),
			want: `- paused: true / + annotations: / + kubectl.kubernetes.io/restartedAt: "2026-01-01T10:00:00Z"`},
		{name: "pause", set: Set{Pause: true}, want: "+ paused: true"},
		{name: "pause twice", set: Set{Pause: true}, in: paused(web()), err: `deployments.apps "web" is already paused`},
		{name: "resume", set: Set{Resume: true}, err: `deployments.apps "web" is not paused`},
		{name: "undo", set: Set{Undo: ptr.To(int64(0))},
			want: "- mine: now / + mine: v2 / - image: app:v3 / + image: app:v2 / - image: log:v3 / + image: log:v2 / - image: init:v3 / + image: init:v2"},
		{name: "undo to the present", set: Set{Undo: ptr.To(int64(3))}, warn: "deployment.apps/web skipped rollback (current template already matches revision 3)"},
		{name: "undo of what was applied", set: Set{Undo: ptr.To(int64(3))}, in: applied(web()),
			warn: "resource deployments/web was previously managed with 'kubectl apply'. Rolling back will not update the " +
				"kubectl.kubernetes.io/last-applied-configuration annotation, which may cause unexpected behavior on future 'kubectl apply' operations. " +
				"Consider using 'kubectl apply' with your previous configuration file instead.; " +
				"deployment.apps/web skipped rollback (current template already matches revision 3)"},
		{name: "undo to nowhere", set: Set{Undo: ptr.To(int64(9))}, err: "unable to find specified revision 9 in history"},
		{name: "undo below zero", set: Set{Undo: ptr.To(int64(-1))}, err: "unable to find specified revision -1 in history"},
		{name: "undo while paused", set: Set{Undo: ptr.To(int64(1))}, in: paused(web()),
			err: "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again"},
		{name: "strategic patch by container name", set: Set{Patch: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"l"}]}}}}`)},
			want: "- image: log:v3 / + image: l"},
		{name: "YAML patch", set: Set{Patch: []byte("spec:\n  minReadySeconds: 5")}, want: "+ minReadySeconds: 5"},
		{name: "merge patch", set: Set{Patch: []byte(`{"spec":{"replicas":null}}`), PatchType: Merge}, want: "- replicas: 3"},
		{name: "JSON patch", set: Set{Patch: []byte(`[{"op":"replace","path":"/spec/replicas","value":1}]`), PatchType: JSON}, want: "- replicas: 3 / + replicas: 1"},
		{name: "JSON patch of the wrong type", set: Set{Patch: []byte(`[{"op":"remove","path":"/spec/replicas"}]`)},
			err: "the patch cannot be applied: a strategic merge patch is an object; for a list of operations pass --patch-type=json"},
		{name: "patch with an unknown field", set: Set{Patch: []byte(`{"spec":{"replica":4}}`)}, warn: `unknown field "spec.replica"`},
		{name: "patch that renames", set: Set{Patch: []byte(`{"metadata":{"name":"other"}}`)}, err: "a patch cannot change an object's name or namespace"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := test.in
			if in == nil {
				in = web()
			}
			before := text(t, in)
			got, err := test.set.Apply(Input{Object: in, Owned: history(), Now: now})
			if text(t, in) != before {
				t.Error("the input was changed")
			}
			if err != nil || test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				return
			}
			if diff := changedLines(before, text(t, got.Object)); diff != test.want {
				t.Errorf("changed %s\n   want %s", diff, test.want)
			}
			if warn := strings.Join(got.Warnings, "; "); warn != test.warn {
				t.Errorf("warnings %q, want %q", warn, test.warn)
			}
		})
	}
}

func TestUndoWithoutHistory(t *testing.T) {
	undo := Set{Undo: ptr.To(int64(0))}
	_, err := undo.Apply(Input{Object: web(), Owned: []*appsv1.ReplicaSet{set("web-3", "3", "v3", 3)}})
	if err == nil || err.Error() != `no rollout history found for deployment "web"` {
		t.Errorf("error %v", err)
	}
}

// A restart's annotation has whole seconds.
func TestRestartTwiceInASecond(t *testing.T) {
	restart := Set{Restart: true}
	once, err := restart.Apply(Input{Object: web(), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = restart.Apply(Input{Object: once.Object, Now: now.Add(499 * time.Millisecond)}); err == nil || !strings.Contains(err.Error(), "within the past second") {
		t.Errorf("error %v", err)
	}
	if _, err = restart.Apply(Input{Object: once.Object, Now: now.Add(500 * time.Millisecond)}); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestValidate(t *testing.T) {
	for want, set := range map[string]Set{
		"--pause and --resume exclude":            {Pause: true, Resume: true},
		"greater than or equal to 0":              {Replicas: ptr.To(int32(-1))},
		"all containers are already specified by": {Images: []Image{{"*", "a"}, {"b", "c"}}},
	} {
		if err := set.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func text(t *testing.T, obj manifest.Object) string {
	t.Helper()
	out, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// changedLines is a diff of two texts whose lines are mostly the same.
func changedLines(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	var out []string
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			a, b = a[1:], b[1:]
		case len(b) > 0 && (len(a) == 0 || !slices.Contains(a, b[0]) && slices.Contains(b, a[0])):
			out, b = append(out, "+ "+line(b[0])), b[1:]
		case len(a) > 0 && len(b) > 0 && !slices.Contains(a, b[0]):
			out = append(out, "- "+line(a[0]), "+ "+line(b[0]))
			a, b = a[1:], b[1:]
		default:
			out, a = append(out, "- "+line(a[0])), a[1:]
		}
	}
	return strings.Join(out, " / ")
}

func line(s string) string { return strings.TrimPrefix(strings.TrimSpace(s), "- ") }
