package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

// TestLoad gives a pod of a dump its defaults without touching what it was given
// as, and leaves one that lacks nothing as it is, sharing what it points to.
func TestLoad(t *testing.T) {
	given := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "u"}}
	given.Spec.NodeName = "node-1"
	given.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	untouched := given.DeepCopy()
	complete := given.DeepCopy()
	defaults.Pod(complete)

	lacking := load(t, given)
	if diff := cmp.Diff(complete.Spec, lacking.Spec); diff != "" {
		t.Errorf("defaults are missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(untouched, given); diff != "" {
		t.Errorf("loading changed what was given:\n%s", diff)
	}
	if got := load(t, complete); &got.Spec.Containers[0] != &complete.Spec.Containers[0] {
		t.Error("a pod that lacks nothing was copied")
	}
}

// TestLoadAlike loads pods that share parts, some of which lack something: what
// one lacks it gets, whoever came before.
func TestLoadAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := &corev1.Pod{}
		full.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}, LivenessProbe: &corev1.Probe{}}}
		full.Spec.Volumes = []corev1.Volume{{Name: "token-1", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}
		defaults.Pod(full)
		known := newTemplates()
		for range 6 {
			pod := *full
			pod.Spec.Containers, pod.Spec.Volumes = slices.Clone(full.Spec.Containers), slices.Clone(full.Spec.Volumes)
			for range rapid.IntRange(0, 2).Draw(t, "edits") {
				rapid.SampledFrom(lackings).Draw(t, "edit")(&pod)
			}
			want := pod.DeepCopy()
			defaults.Pod(want)
			known.fillLoaded(&pod)
			if diff := cmp.Diff(want, &pod); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
}

var lackings = []func(*corev1.Pod){
	func(p *corev1.Pod) { p.Spec.NodeName = "node-1" },
	func(p *corev1.Pod) { p.Spec.Volumes[0].Name = "token-2" },
	func(p *corev1.Pod) { p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{} },
	func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "token-2"}} },
	func(p *corev1.Pod) {
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "a", BindMountOptions: []string{"x"}}}
	},
	func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}} },
	func(p *corev1.Pod) { p.Spec.Containers[0].ImagePullPolicy = "" },
	func(p *corev1.Pod) { p.Spec.HostNetwork = true },
	func(p *corev1.Pod) { p.Spec.EnableServiceLinks = nil },
	func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" },
	func(p *corev1.Pod) { p.Annotations = map[string]string{"pod.beta.kubernetes.io/init-containers": "[]"} },
}

func load(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	w := New(Config{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err := w.Load(pod); err != nil {
		t.Fatal(err)
	}
	got, ok := w.Stored().Get(Pods, pod.Namespace, pod.Name)
	if !ok {
		t.Fatal("it is not there")
	}
	return got.(*corev1.Pod)
}
