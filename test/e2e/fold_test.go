package e2e

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func named(name string, generation int64) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}, Generation: generation}
}

func deployment(generation int64, status appsv1.DeploymentStatus) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: named("web", generation), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}, Status: status}
}

func set(name string, size int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: named(name, 1), Spec: appsv1.ReplicaSetSpec{Replicas: &size}}
}

func pod(name string, ready, leaving bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: named(name, 0)}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)}}
	}
	if leaving {
		p.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	return p
}

// What a watch tells of a rollout of two pods, told again by hand.
func TestRealityIsFolded(t *testing.T) {
	whole := func(observed int64) appsv1.DeploymentStatus {
		return appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	}
	var events []seen
	see := func(ms int, obj metav1.Object) {
		events = append(events, seen{noon.Add(time.Duration(ms) * time.Millisecond), watch.Modified, obj})
	}
	see(0, deployment(1, whole(1)))
	see(0, set("web-1", 2))
	see(0, pod("a", true, false))
	see(0, pod("b", true, false))
	mark := len(events)
	see(999, set("web-2", 1)) // its watch was quicker
	see(1000, deployment(2, whole(1)))
	see(1030, set("web-1", 1))
	see(1040, pod("c", false, false))
	see(1050, pod("b", true, true))
	see(3000, pod("c", true, false))
	see(3020, set("web-2", 2))
	see(3030, set("web-1", 0))
	see(3030, set("web-1", 0))
	see(3040, pod("d", false, false))
	see(3050, pod("a", true, true))
	see(5000, pod("d", true, false))
	see(5100, deployment(2, whole(2)))

	r := newReality(events[:mark], []string{"web"})
	for _, e := range events[mark:] {
		r.take(e)
	}
	if !r.over(noon) {
		t.Error("it is not over")
	}
	got := r.rolled()
	if got.line() != "[1 1] [0 2]" || got.verdict != "Complete" || got.took != 4100*time.Millisecond || got.pods() != "3/1" {
		t.Errorf("folded into %s, %s after %s, pods %s", got.line(), got.verdict, got.took, got.pods())
	}
	other := got
	other.took += 900 * time.Millisecond
	if errors := other.errors(got); len(errors) > 0 {
		t.Errorf("a duration 0.9 s off is called wrong: %v", errors)
	}
	other.took += 200 * time.Millisecond
	other.steps = other.steps[:3]
	if errors := other.errors(got); len(errors) != 2 {
		t.Errorf("a duration 1.1 s off and a step missing: %v", errors)
	}
}
