package rollout

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func statusSet(wanted int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{}
	rs.Generation = 1
	rs.Spec.Replicas = ptr.To(wanted)
	rs.Spec.MinReadySeconds = 10
	rs.Spec.Template.Labels = map[string]string{"app": "web", "tier": ""}
	return rs
}

func statusPod(readySince time.Time, labels map[string]string) *corev1.Pod {
	pod := readyPod(readySince)
	pod.Labels = labels
	return pod
}

func TestReplicaSetStatusCounts(t *testing.T) {
	full := map[string]string{"app": "web", "tier": "", "more": "x"}
	waiting := &corev1.Pod{}
	waiting.Labels = full
	pods := []*corev1.Pod{
		statusPod(rankNow.Add(-10*time.Second), full),
		statusPod(rankNow.Add(-9*time.Second), map[string]string{"app": "web"}), // an empty label must be there all the same
		waiting,
	}
	rs := statusSet(3)
	got := LatestVersion.ReplicaSetStatus(rs, pods, 2, nil, rankNow)
	want := appsv1.ReplicaSetStatus{Replicas: 3, FullyLabeledReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 1, TerminatingReplicas: ptr.To[int32](2)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("1.37 (-want +got):\n%s", diff)
	}
	got = Version(33).ReplicaSetStatus(rs, pods, 2, nil, rankNow)
	want.TerminatingReplicas, want.AvailableReplicas = nil, 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("1.33 (-want +got):\n%s", diff)
	}
}

func TestReplicaFailure(t *testing.T) {
	failing := func(reason, message string) []appsv1.ReplicaSetCondition {
		return []appsv1.ReplicaSetCondition{{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(rankNow), Reason: reason, Message: message,
		}}
	}
	one, three := []*corev1.Pod{{}}, []*corev1.Pod{{}, {}, {}}
	tests := map[string]struct {
		before  []appsv1.ReplicaSetCondition
		pods    []*corev1.Pod
		failure error
		want    []appsv1.ReplicaSetCondition
	}{
		"too few: creating failed":     {nil, one, errors.New("no"), failing("FailedCreate", "no")},
		"too many: deleting failed":    {nil, three, errors.New("no"), failing("FailedDelete", "no")},
		"C54 the first message stays":  {failing("FailedCreate", "first"), one, errors.New("second"), failing("FailedCreate", "first")},
		"even when another kind fails": {failing("FailedCreate", "first"), three, errors.New("second"), failing("FailedCreate", "first")},
		"no failure takes it away":     {failing("FailedCreate", "first"), one, nil, nil},
		"none and none":                {nil, one, nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rs := statusSet(2)
			rs.Status.Conditions = tc.before
			status := LatestVersion.ReplicaSetStatus(rs, tc.pods, 0, tc.failure, rankNow)
			if diff := cmp.Diff(tc.want, status.Conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if len(rs.Status.Conditions) != len(tc.before) {
				t.Error("the ReplicaSet was changed")
			}
		})
	}
}

func TestSettingAConditionKeepsOneThatSaysTheSame(t *testing.T) {
	other := appsv1.ReplicaSetCondition{Type: "Other"}
	was := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "A", Message: "old"}
	status := appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{was, other}}

	SetReplicaSetCondition(&status, appsv1.ReplicaSetCondition{Type: was.Type, Status: was.Status, Reason: "A", Message: "new"})
	if diff := cmp.Diff([]appsv1.ReplicaSetCondition{was, other}, status.Conditions); diff != "" {
		t.Errorf("same status and reason (-want +got):\n%s", diff)
	}
	changed := appsv1.ReplicaSetCondition{Type: was.Type, Status: was.Status, Reason: "B"}
	SetReplicaSetCondition(&status, changed)
	if diff := cmp.Diff([]appsv1.ReplicaSetCondition{other, changed}, status.Conditions); diff != "" {
		t.Errorf("another reason goes to the end (-want +got):\n%s", diff)
	}
}

func TestReplicaSetStatusChanged(t *testing.T) {
	base := func() *appsv1.ReplicaSet {
		rs := statusSet(1)
		rs.Status = appsv1.ReplicaSetStatus{ObservedGeneration: 1, TerminatingReplicas: ptr.To[int32](0)}
		return rs
	}
	tests := map[string]struct {
		change func(rs *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus)
		want   bool
	}{
		"nothing":                  {func(*appsv1.ReplicaSet, *appsv1.ReplicaSetStatus) {}, false},
		"replicas":                 {func(_ *appsv1.ReplicaSet, s *appsv1.ReplicaSetStatus) { s.Replicas++ }, true},
		"labeled":                  {func(_ *appsv1.ReplicaSet, s *appsv1.ReplicaSetStatus) { s.FullyLabeledReplicas++ }, true},
		"ready":                    {func(_ *appsv1.ReplicaSet, s *appsv1.ReplicaSetStatus) { s.ReadyReplicas++ }, true},
		"available":                {func(_ *appsv1.ReplicaSet, s *appsv1.ReplicaSetStatus) { s.AvailableReplicas++ }, true},
		"terminating, none to 0":   {func(rs *appsv1.ReplicaSet, _ *appsv1.ReplicaSetStatus) { rs.Status.TerminatingReplicas = nil }, true},
		"terminating, same number": {func(_ *appsv1.ReplicaSet, s *appsv1.ReplicaSetStatus) { s.TerminatingReplicas = ptr.To[int32](0) }, false},
		"a newer spec":             {func(rs *appsv1.ReplicaSet, _ *appsv1.ReplicaSetStatus) { rs.Generation++ }, true},
		"a condition": {func(_ *appsv1.ReplicaSet, s *appsv1.ReplicaSetStatus) {
			s.Conditions = []appsv1.ReplicaSetCondition{{}}
		}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rs := base()
			status := rs.Status
			tc.change(rs, &status)
			if got := ReplicaSetStatusChanged(rs, status); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Ten thousand settled pods are counted at every pass.
func TestCountingSettledPodsAllocatesNothing(t *testing.T) {
	pods := make([]*corev1.Pod, 1000)
	for i := range pods {
		pods[i] = statusPod(rankNow.Add(-time.Hour), map[string]string{"app": "web", "tier": ""})
	}
	rs := statusSet(1000)
	rs.Status = LatestVersion.ReplicaSetStatus(rs, pods, 0, nil, rankNow)
	rs.Status.ObservedGeneration = rs.Generation
	allocs := testing.AllocsPerRun(10, func() {
		if ReplicaSetStatusChanged(rs, LatestVersion.ReplicaSetStatus(rs, pods, 0, nil, rankNow)) {
			t.Fatal("changed")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
