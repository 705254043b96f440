package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func limit(s string) *intstr.IntOrString {
	v := intstr.Parse(s)
	return &v
}

func rolling(replicas int32, surge, unavailable string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "d"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: limit(surge), MaxUnavailable: limit(unavailable)},
			},
		},
	}
}

// set is a ReplicaSet made at a second after the epoch.
func set(name string, second int64, size, available int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)}}
	rs.Spec.Replicas = &size
	rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = size, available, available
	return rs
}

func TestFenceposts(t *testing.T) {
	for _, tc := range []struct {
		desired            int32
		unavailable, surge string
		u, s               int32
	}{
		{1, "25%", "25%", 0, 1},
		{2, "25%", "25%", 0, 1},
		{3, "25%", "25%", 0, 1},
		{4, "25%", "25%", 1, 1},
		{5, "25%", "25%", 1, 2},
		{10, "25%", "25%", 2, 3},
		{1, "1%", "0", 1, 0},
		{2, "1%", "0", 1, 0},
		{10, "100%", "0", 10, 0},
		{0, "0", "25%", 1, 0},
		{3, "0", "0", 1, 0},
	} {
		s, u, err := Fenceposts(limit(tc.surge), limit(tc.unavailable), tc.desired)
		if err != nil || s != tc.s || u != tc.u {
			t.Errorf("%d desired, %s unavailable, %s surge: got %d unavailable, %d surge (%v), want %d, %d",
				tc.desired, tc.unavailable, tc.surge, u, s, err, tc.u, tc.s)
		}
	}
	if _, _, err := Fenceposts(limit("few"), nil, 3); err == nil {
		t.Error("a surge of \"few\" is no error")
	}
}

func TestLimitsOfADeployment(t *testing.T) {
	recreate := rolling(4, "25%", "25%")
	recreate.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	for name, tc := range map[string]struct {
		d                                      *appsv1.Deployment
		maxUnavailable, minAvailable, maxSurge int32
	}{
		"quarter of 10":           {rolling(10, "25%", "25%"), 2, 8, 3},
		"more unavailable than N": {rolling(3, "0", "10"), 3, 0, 0},
		"none desired":            {rolling(0, "2", "1"), 0, 0, 2},
		"Recreate":                {recreate, 0, 0, 0},
	} {
		got := [3]int32{MaxUnavailable(tc.d), MinAvailable(tc.d), MaxSurge(tc.d)}
		if want := [3]int32{tc.maxUnavailable, tc.minAvailable, tc.maxSurge}; got != want {
			t.Errorf("%s: got max unavailable, min available, max surge %v, want %v", name, got, want)
		}
	}
}

func TestNewReplicaSetSize(t *testing.T) {
	room := func(result int32, terms ...trace.Term) Budget {
		return Budget{Rule: trace.Room, Terms: terms, Result: result}
	}
	for name, tc := range map[string]struct {
		d       *appsv1.Deployment
		old     int32
		new     int32
		want    int32
		wantWhy Budget
	}{
		"surge of a new one": {rolling(10, "3", "2"), 10, 0, 3,
			room(3, trace.Term{Name: "desired", Value: 10}, trace.Term{Name: "surge", Value: 3}, trace.Term{Name: "pods", Value: -10})},
		"no room": {rolling(10, "3", "2"), 13, 0, 0,
			room(0, trace.Term{Name: "desired", Value: 10}, trace.Term{Name: "surge", Value: 3}, trace.Term{Name: "pods", Value: -13})},
		"beyond the limit": {rolling(10, "3", "2"), 15, 1, 1,
			room(0, trace.Term{Name: "desired", Value: 10}, trace.Term{Name: "surge", Value: 3}, trace.Term{Name: "pods", Value: -16})},
		"never above desired": {rolling(10, "3", "2"), 1, 8, 10,
			room(2, trace.Term{Name: "desired", Value: 10}, trace.Term{Name: "surge", Value: 3}, trace.Term{Name: "pods", Value: -9}, trace.Term{Name: "desiredLeft", Value: 2})},
		// 2,140,000,000 + 100,000,000 overflows after the comparison, upstream too.
		"overflow": {rolling(2_000_000_000, "7%", "0"), -100_000_000, 0, -2_054_967_296,
			room(-2_054_967_296, trace.Term{Name: "desired", Value: 2_000_000_000}, trace.Term{Name: "surge", Value: 140_000_000}, trace.Term{Name: "pods", Value: 100_000_000})},
		"surge 0 without fencepost": {rolling(3, "0", "0"), 3, 0, 0,
			room(0, trace.Term{Name: "desired", Value: 3}, trace.Term{Name: "surge", Value: 0}, trace.Term{Name: "pods", Value: -3})},
	} {
		newSet := set("new", 2, tc.new, 0)
		got, why, err := NewReplicaSetSize(tc.d, []*appsv1.ReplicaSet{set("old", 1, tc.old, 0), newSet}, newSet)
		if err != nil || got != tc.want {
			t.Errorf("%s: got %d (%v), want %d", name, got, err, tc.want)
		}
		if diff := cmp.Diff(tc.wantWhy, why); diff != "" {
			t.Errorf("%s: budget (-want +got):\n%s", name, diff)
		}
	}
}

// A crash-looping new ReplicaSet holds the old ones; undoing it frees its pods.
func TestSurplus(t *testing.T) {
	d := rolling(10, "3", "2")
	held := Surplus(d, Sets{New: set("new", 2, 5, 0), Old: []*appsv1.ReplicaSet{set("old", 1, 8, 7)}})
	undone := Surplus(d, Sets{New: set("old", 1, 8, 7), Old: []*appsv1.ReplicaSet{set("new", 2, 5, 0)}})
	over := Surplus(d, Sets{New: set("third", 3, 0, 0), Old: []*appsv1.ReplicaSet{set("old", 1, 8, 8), set("new", 2, 5, 0)}})
	if held.Result != 0 || undone.Result != 4 || over.Result != 5 {
		t.Errorf("got %d held, %d undone, %d rolled over, want 0, 4, 5", held.Result, undone.Result, over.Result)
	}
	want := []trace.Term{{Name: "pods", Value: 13}, {Name: "needed", Value: -8}, {Name: "notReady", Value: -5}}
	if diff := cmp.Diff(want, held.Terms); diff != "" {
		t.Error(diff)
	}
}

func TestPlanUnhealthy(t *testing.T) {
	oldest, older := set("a", 1, 4, 1), set("b", 2, 3, 2)
	steps, impossible := PlanUnhealthy([]*appsv1.ReplicaSet{older, oldest}, 10)
	if impossible != nil || len(steps) != 2 || steps[0].ReplicaSet != oldest || steps[0].To != 1 || steps[1].To != 2 {
		t.Errorf("got %+v, %+v", steps, impossible)
	}
	steps, _ = PlanUnhealthy([]*appsv1.ReplicaSet{older, oldest}, 2)
	if len(steps) != 1 || steps[0].To != 2 {
		t.Errorf("with a surplus of 2 got %+v", steps)
	}
	steps, impossible = PlanUnhealthy([]*appsv1.ReplicaSet{oldest, set("b", 2, 2, 5), set("c", 3, 3, 0)}, 10)
	if len(steps) != 1 || impossible == nil || impossible.ReplicaSet.Name != "b" {
		t.Errorf("with a lagging status got %+v, %+v", steps, impossible)
	}
}

func TestOldPodsRunning(t *testing.T) {
	pod := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
	}
	ended := []*corev1.Pod{pod(corev1.PodFailed), pod(corev1.PodSucceeded)}
	for name, tc := range map[string]struct {
		reported int32
		pods     []*corev1.Pod
		want     int32
	}{
		"status says so":  {2, nil, 2},
		"all ended":       {0, ended, 0},
		"phases not over": {0, append(ended, pod(corev1.PodPending), pod(corev1.PodUnknown), pod("")), 3},
	} {
		if got := OldPodsRunning([]*appsv1.ReplicaSet{set("old", 1, tc.reported, 0)}, tc.pods); got.Result != tc.want {
			t.Errorf("%s: got %+v, want %d", name, got, tc.want)
		}
	}
}

// Whatever the old sets look like, one pass of the rolling update leaves the
// minimum available, unless it was not there before, and never surges beyond the limit.
func TestRollingKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rolling(rapid.Int32Range(0, 40).Draw(t, "desired"),
			rapid.SampledFrom([]string{"0", "1", "25%", "100%", "7"}).Draw(t, "surge"),
			rapid.SampledFrom([]string{"0", "1", "25%", "100%", "7"}).Draw(t, "unavailable"))
		draw := func(name string, second int64) *appsv1.ReplicaSet {
			size := rapid.Int32Range(0, 30).Draw(t, name)
			return set(name, second, size, rapid.Int32Range(0, size).Draw(t, name+" available"))
		}
		sets := Sets{New: draw("new", 9), Old: []*appsv1.ReplicaSet{draw("a", 1), draw("b", 2), draw("c", 3)}}
		availableAfter := sets.New.Status.AvailableReplicas
		availableBefore := availableAfter
		for _, rs := range sets.Old {
			availableBefore += rs.Status.AvailableReplicas
		}
		for _, rs := range sweep(d, sets) {
			availableAfter += min(Size(rs), rs.Status.AvailableReplicas)
		}
		if availableAfter < min(availableBefore, MinAvailable(d)) {
			t.Fatalf("%d of %d available pods left, need %d", availableAfter, availableBefore, MinAvailable(d))
		}
		size, _, err := NewReplicaSetSize(d, sets.All(), sets.New)
		if err != nil {
			t.Fatal(err)
		}
		grown := size - Size(sets.New)
		if grown > 0 && TotalSize(sets.All())+grown > Desired(d)+MaxSurge(d) {
			t.Fatalf("%d pods and %d more exceed %d and surge %d", TotalSize(sets.All()), grown, Desired(d), MaxSurge(d))
		}
	})
}

// sweep is the old ReplicaSets after one pass over them.
func sweep(d *appsv1.Deployment, sets Sets) []*appsv1.ReplicaSet {
	resize := func(old []*appsv1.ReplicaSet, steps []Step) []*appsv1.ReplicaSet {
		var out []*appsv1.ReplicaSet
		for _, rs := range old {
			rs = rs.DeepCopy()
			for _, s := range steps {
				if s.ReplicaSet.Name == rs.Name {
					*rs.Spec.Replicas = s.To
				}
			}
			out = append(out, rs)
		}
		return out
	}
	old := Active(sets.Old)
	surplus := Surplus(d, sets)
	if surplus.Result <= 0 {
		return old
	}
	steps, _ := PlanUnhealthy(old, surplus.Result)
	old = resize(old, steps)
	return resize(old, PlanAvailable(old, Spare(d, sets.New, old)))
}
