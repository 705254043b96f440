package sim

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
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

// TestLoadTemplates loads pods of two templates in turns: neither is looked at
// anew because the other came in between.
func TestLoadTemplates(t *testing.T) {
	complete := func(image string) *corev1.Pod {
		pod := &corev1.Pod{}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
		defaults.Pod(pod)
		return pod
	}
	known, a, b := newTemplates(), complete("nginx"), complete("envoy")
	made := testing.AllocsPerRun(10, func() { complete("other") })
	looked := testing.AllocsPerRun(10, func() { known.fillLoaded(complete("other")) }) - made
	turns := testing.AllocsPerRun(10, func() {
		known.fillLoaded(a)
		known.fillLoaded(b)
	})
	if turns > looked/2 {
		t.Errorf("two pods of known templates cost %v allocations, one of an unknown one %v", turns, looked)
	}
}

// listener is a plugin that only listens.
type listener func(*Hands)

func (l listener) Name() string   { return "listener" }
func (l listener) Start(h *Hands) { l(h) }

// TestFirstDeliveries brings watches what is there object by object, in order,
// before anything that these cause at the same moment, and under no cause.
func TestFirstDeliveries(t *testing.T) {
	var got []string
	w := New(Config{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Plugins: []Plugin{listener(func(h *Hands) {
		for _, resource := range []string{Pods, Nodes} {
			h.Watch(resource, func(c engine.Change) {
				obj := c.New.(Object)
				if h.Cause() != 0 || c.Verb != engine.Added || c.Old != nil {
					t.Errorf("%s is brought as %s in place of %v, following from %d", obj.GetName(), c.Verb, c.Old, h.Cause())
				}
				h.actor.world.cause = 7 // as a handler's own work may leave it
				seen := strconv.Itoa(len(h.Cached().List(resource, "")))
				got = append(got, obj.GetName()+" is number "+seen)
				h.After(0, func() { got = append(got, "then "+obj.GetName()) })
			})
		}
	})}})
	for _, name := range []string{"b", "a"} {
		pod, node := &corev1.Pod{}, &corev1.Node{}
		pod.Name, pod.Namespace, node.Name = "pod-"+name, "default", "node-"+name
		if err := w.Load(pod, node); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Advance(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pod-b is number 1", "pod-a is number 2", "node-b is number 1", "node-a is number 2",
		"then pod-b", "then pod-a", "then node-b", "then node-a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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
