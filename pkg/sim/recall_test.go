package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// idle is a controller that does nothing.
type idle struct{}

func (idle) Observe(*engine.Env, engine.Change)                  {}
func (idle) Sync(context.Context, *engine.Env, engine.Key) error { return nil }
func (idle) Retry(error, int) bool                               { return false }

// A ReplicaSet may be talked about 25 times at once, and once more every 300
// seconds; the pods it has were announced when they were made.
func TestFilterKnowsThePast(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		pods int
		ago  time.Duration
		left int
	}{
		{0, 0, 25},
		{1, 10 * time.Second, 24},
		{30, 10 * time.Second, 0},
		{30, 299 * time.Second, 0},
		{30, time.Hour, 12},
		{30, 24 * time.Hour, 25},
	} {
		w := New(Config{Start: start, Controllers: []engine.Spec{{Name: "replicaset", Component: "replicaset-controller", Watches: []string{ReplicaSets, Pods}, Controller: idle{}}}})
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "set", CreationTimestamp: metav1.NewTime(start.Add(-48 * time.Hour))}}
		owner := metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
		objs := []Object{set}
		for i := range test.pods {
			objs = append(objs, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Namespace: "ns",
				CreationTimestamp: metav1.NewTime(start.Add(-test.ago)), OwnerReferences: []metav1.OwnerReference{*owner}}})
		}
		if err := w.Load(objs...); err != nil {
			t.Fatal(err)
		}
		w.start()
		left := 0
		for !w.runners[0].recorder.drops(RefOf(set), set.UID) {
			left++
		}
		if left != test.left || !w.Now().Equal(start) {
			t.Errorf("%d pods made %s ago leave %d events at %s, want %d at %s", test.pods, test.ago, left, w.Now(), test.left, start)
		}
	}
}
