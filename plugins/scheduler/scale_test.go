package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
)

// crowd creates many pods at once: all alike, or of several kinds that each
// keep to themselves and spread.
type crowd struct{ pods, kinds int }

func (c crowd) Name() string { return "crowd" }

func (c crowd) Start(h *sim.Hands) {
	yes := true
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: types.UID("web"), Controller: &yes}
	for i := range c.pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("web-%d", i), OwnerReferences: []metav1.OwnerReference{owner}, Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "a", Image: "b",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("1Mi")}}}}},
		}
		if c.kinds > 0 {
			apart(pod, fmt.Sprintf("app-%d", i%c.kinds))
		}
		h.After(0, func() {
			if _, err := h.Create(pod); err != nil {
				panic(err) // a test's own mistake
			}
		})
	}
}

// apart gives a pod anti-affinity to its kind by host, and spreads it over zones.
func apart(pod *corev1.Pod, app string) {
	pod.Labels = map[string]string{"app": app}
	pod.OwnerReferences = nil
	kind := &metav1.LabelSelector{MatchLabels: pod.Labels}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: kind}}}}
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: kind},
		{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: kind}}
}

func place(tb testing.TB, pods, nodes, kinds int) *sim.World {
	room := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110")}
	w := sim.New(sim.Config{Start: begin, Plugins: []sim.Plugin{scheduler.New(scheduler.Options{}), crowd{pods, kinds}}})
	labels := map[string]string{"app": "web"}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"}, Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}}}
	if err := w.Load(set); err != nil {
		tb.Fatal(err)
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: string(rune('a' + i%3))}}, Status: corev1.NodeStatus{Allocatable: room}}
		if err := w.Load(n); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := w.Run(context.Background(), engine.Goal{Limit: time.Hour, WholeLimit: true}); err != nil {
		tb.Fatal(err)
	}
	return w
}

var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// TestEven: many pods of one revision end up evenly spread.
func TestEven(t *testing.T) {
	w := place(t, 1500, 150, 0)
	count := map[string]int{}
	for _, obj := range w.Stored().List(sim.Pods, "") {
		count[obj.(*corev1.Pod).Spec.NodeName]++
	}
	if count[""] > 0 {
		t.Errorf("%d pods without a node", count[""])
	}
	for name, n := range count {
		if n < 8 || n > 12 {
			t.Errorf("%d pods on %s", n, name)
		}
	}
}

// BenchmarkPlace places 10,000 pods on 200 nodes.
func BenchmarkPlace(b *testing.B) {
	for b.Loop() {
		place(b, 10_000, 200, 0)
	}
}

// BenchmarkApart places 10,000 pods of twelve kinds on 1,000 nodes, at most one
// of a kind on a node and all kinds level over the zones.
func BenchmarkApart(b *testing.B) {
	for b.Loop() {
		place(b, 10_000, 1000, 12)
	}
}

// TestApart: required anti-affinity and spread hold for every pod placed.
func TestApart(t *testing.T) {
	w := place(t, 600, 60, 12)
	zones := map[string]string{}
	for _, obj := range w.Stored().List(sim.Nodes, "") {
		zones[obj.GetName()] = obj.GetLabels()[corev1.LabelTopologyZone]
	}
	onNode, inZone := map[string]int{}, map[string]int{}
	for _, obj := range w.Stored().List(sim.Pods, "") {
		pod := obj.(*corev1.Pod)
		app, node := pod.Labels["app"], pod.Spec.NodeName
		if onNode[app+" "+node]++; node == "" || onNode[app+" "+node] > 1 {
			t.Errorf("%s is on %q with another %s", pod.Name, node, app)
		}
		inZone[app+" "+zones[node]]++
	}
	for i := range 12 {
		app := fmt.Sprintf("app-%d", i)
		a, b, c := inZone[app+" a"], inZone[app+" b"], inZone[app+" c"]
		if max(a, b, c)-min(a, b, c) > 1 {
			t.Errorf("%s: %d, %d and %d by zone", app, a, b, c)
		}
	}
}
