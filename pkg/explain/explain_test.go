package explain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// crew is a ReplicaSet of pods that the edits make differ.
func crew(edits ...func(*corev1.Pod)) *Snapshot {
	n := int32(len(edits))
	labels := map[string]string{"app": "web"}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "rs", CreationTimestamp: metav1.NewTime(noon)}}
	rs.Spec.Replicas, rs.Spec.Selector = &n, &metav1.LabelSelector{MatchLabels: labels}
	rs.Spec.Template.Labels = labels
	objs := []Object{rs}
	for i, edit := range edits {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("web-%d", i), Labels: labels, CreationTimestamp: metav1.NewTime(noon),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}}}
		pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)}}
		edit(pod)
		objs = append(objs, pod)
	}
	return NewSnapshot(noon.Add(time.Hour), rollout.LatestVersion, objs)
}

// TestVictims: rank by rank, each pod with the rule that puts it before the next.
func TestVictims(t *testing.T) {
	s := crew(
		func(*corev1.Pod) {},
		func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "-5"} },
		func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse },
		func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending },
		func(p *corev1.Pod) { p.Spec.NodeName = "" },
	)
	var got []string
	for _, v := range s.victims(context.Background(), s.ReplicaSets[0], 10) {
		got = append(got, fmt.Sprintf("%d/%d %s %s", v.Place, v.Of, v.Pod.Name, v.Rank.Rule))
	}
	want := "1/5 web-4 Unassigned, 2/5 web-3 Phase, 3/5 web-2 NotReady, 4/5 web-1 DeletionCost, 5/5 web-0 All"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	pod, _ := find(s.Pods, "ns", "web-1")
	got = nil
	for _, v := range s.standing(context.Background(), s.ReplicaSets[0], pod) {
		got = append(got, v.Pod.Name)
	}
	if want := "web-4 web-3 web-2 web-1"; strings.Join(got, " ") != want {
		t.Errorf("the place of web-1 is behind %v, want %s", got, want)
	}
}

// TestEviction: the NoExecute taints of a node against what a pod tolerates.
func TestEviction(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }
	gone := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: at(0)}
	gpu := corev1.Taint{Key: "gpu", Value: "broken", Effect: corev1.TaintEffectNoExecute, TimeAdded: at(time.Minute)}
	soft := corev1.Taint{Key: "cordoned", Effect: corev1.TaintEffectNoSchedule}
	tolerates := func(key string, seconds ...int64) corev1.Toleration {
		out := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
		if len(seconds) > 0 {
			out.TolerationSeconds = &seconds[0]
		}
		return out
	}
	tests := map[string]struct {
		taints []corev1.Taint
		has    []corev1.Toleration
		want   string        // part of the message; empty for no finding
		when   time.Duration // after noon; negative for no time
	}{
		"no taint":           {nil, nil, "", -1},
		"no NoExecute":       {[]corev1.Taint{soft}, nil, "", -1},
		"not tolerated":      {[]corev1.Taint{gone}, nil, "at once", -1},
		"for five minutes":   {[]corev1.Taint{gone}, []corev1.Toleration{tolerates(gone.Key, 300)}, "5m0s", 5 * time.Minute},
		"for ever":           {[]corev1.Taint{gone}, []corev1.Toleration{tolerates(gone.Key)}, "for ever", -1},
		"the shorter of two": {[]corev1.Taint{gone, gpu}, []corev1.Toleration{tolerates(gone.Key, 300), tolerates("gpu", 60)}, "1m0s", 2 * time.Minute},
		"negative is none":   {[]corev1.Taint{gone}, []corev1.Toleration{tolerates(gone.Key, -3)}, "0s", 0},
	}
	for name, test := range tests {
		s := crew(func(p *corev1.Pod) { p.Spec.Tolerations = test.has })
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		node.Spec.Taints = test.taints
		s.Nodes = []*corev1.Node{node}
		f, ok := s.podCase(s.Pods[0]).eviction()
		if ok != (test.want != "") || !strings.Contains(f.Message, test.want) {
			t.Errorf("%s: %v %q, want %q", name, ok, f.Message, test.want)
		}
		if when := moment(noon.Add(test.when)); test.when >= 0 && (f.Time == nil || !f.Time.Equal(when)) || test.when < 0 && f.Time != nil {
			t.Errorf("%s: at %v, want %v after noon", name, f.Time, test.when)
		}
	}
}

// TestReadiness: what a pod without trouble of its own waits for.
func TestReadiness(t *testing.T) {
	tests := map[string]struct {
		edit  func(*Snapshot)
		cause v1alpha1.Cause
	}{
		"ready":             {func(*Snapshot) {}, v1alpha1.CauseAvailable},
		"minReadySeconds":   {func(s *Snapshot) { s.ReplicaSets[0].Spec.MinReadySeconds = 7200 }, v1alpha1.CauseSettling},
		"not ready":         {func(s *Snapshot) { s.Pods[0].Status.Conditions[0].Status = corev1.ConditionFalse }, v1alpha1.CauseNotReady},
		"not started":       {func(s *Snapshot) { s.Pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending} }, v1alpha1.CauseStarting},
		"no scheduler":      {func(s *Snapshot) { s.Pods[0].Spec.NodeName = "" }, v1alpha1.CauseUnscheduled},
		"ended":             {func(s *Snapshot) { s.Pods[0].Status.Phase = corev1.PodFailed }, v1alpha1.CauseEnded},
		"owner on its way":  {func(s *Snapshot) { leave(s); s.ReplicaSets[0].DeletionTimestamp = &metav1.Time{Time: noon} }, v1alpha1.CauseOwnerDeleted},
		"owner gone":        {func(s *Snapshot) { leave(s); s.ReplicaSets = nil }, v1alpha1.CauseOwnerDeleted},
		"fewer wanted":      {func(s *Snapshot) { leave(s); *s.ReplicaSets[0].Spec.Replicas = 0 }, v1alpha1.CauseScaledDown},
		"deleted by a hand": {leave, v1alpha1.CauseDeleted},
		"selects nothing":   {func(s *Snapshot) { s.ReplicaSets[0].Spec.Selector = nil }, v1alpha1.CauseOrphaned},
		"will be released":  {func(s *Snapshot) { s.Pods[0].Labels = map[string]string{"app": "debug"} }, v1alpha1.CauseOrphaned},
	}
	for name, test := range tests {
		s := crew(func(*corev1.Pod) {})
		test.edit(s)
		out, ok := s.Pod(context.Background(), "ns", "web-0")
		if !ok || out.Cause != test.cause {
			t.Errorf("%s: %+v, want %s", name, out, test.cause)
		}
	}
}

func leave(s *Snapshot) {
	s.Pods[0].DeletionTimestamp, s.Pods[0].DeletionGracePeriodSeconds = &metav1.Time{Time: noon.Add(time.Hour)}, new(int64)
}
