package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
)

// crowd creates the same pod many times at once.
type crowd struct{ pods int }

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
		h.After(0, func() {
			if _, err := h.Create(pod); err != nil {
				panic(err) // a test's own mistake
			}
		})
	}
}

func place(tb testing.TB, pods, nodes int) *sim.World {
	room := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110")}
	w := sim.New(sim.Config{Start: begin, Plugins: []sim.Plugin{scheduler.New(scheduler.Options{}), crowd{pods}}})
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
	w := place(t, 1500, 150)
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
		place(b, 10_000, 200)
	}
}
