package predict

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

func observedPod(owner string, ready bool, age time.Duration, waiting string) *corev1.Pod {
	yes, status := true, corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.CreationTimestamp = "team", metav1.NewTime(epoch.Add(-age))
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, Controller: &yes}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	if waiting != "" {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}}}}
	}
	return pod
}

// What fails goes on failing; what merely takes its time does not.
func TestFailingPods(t *testing.T) {
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want kubelet.Never // of the next pod of the ReplicaSet
	}{
		"ready":             {[]*corev1.Pod{observedPod("a", true, time.Hour, "")}, ""},
		"starting":          {[]*corev1.Pod{observedPod("a", false, 20*time.Second, "ContainerCreating")}, ""},
		"slow, perhaps":     {[]*corev1.Pod{observedPod("a", false, time.Minute, "")}, ""},
		"unready for long":  {[]*corev1.Pod{observedPod("a", false, 4*time.Minute, "")}, kubelet.Unready},
		"no image":          {[]*corev1.Pod{observedPod("a", false, time.Second, "ErrImagePull")}, kubelet.ImagePull},
		"crashing":          {[]*corev1.Pod{observedPod("a", false, time.Second, "CrashLoopBackOff")}, kubelet.CrashLoop},
		"one of two":        {[]*corev1.Pod{observedPod("a", false, time.Hour, ""), observedPod("a", true, time.Hour, "")}, ""},
		"another's failing": {[]*corev1.Pod{observedPod("b", false, time.Hour, "")}, ""},
	} {
		s := &scene{start: epoch, snapshot: &live.Snapshot{Pods: test.pods}}
		s.failing = s.failingSets()
		if got := s.standing(observedPod("a", false, 0, ""), "team/a"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Where pods have told how long they take, that says when to give up on one.
func TestHopeless(t *testing.T) {
	s := &scene{start: epoch, measured: map[trace.Ref]live.Times{{Name: "web"}: {High: 90 * time.Second}}}
	if got := s.failure(observedPod("a", false, 299*time.Second, "")); got != "" {
		t.Errorf("given up on early: %s", got)
	}
	if got := s.failure(observedPod("a", false, 301*time.Second, "")); got != kubelet.Unready {
		t.Errorf("not given up on: %q", got)
	}
}

func TestMeasuredText(t *testing.T) {
	a, b := trace.Ref{Kind: "Deployment", Name: "a"}, trace.Ref{Kind: "Deployment", Name: "b"}
	s := &scene{workloads: []trace.Ref{a}, measured: map[trace.Ref]live.Times{
		a: {Pods: 10, Mean: 2100 * time.Millisecond, P95: 2600 * time.Millisecond},
		b: {Pods: 1, Mean: 5 * time.Second, P95: 5 * time.Second},
	}}
	if got := s.measuredText(); got != "2.1s (p95 2.6s, measured on 10 pods)" {
		t.Error(got)
	}
	s.workloads = []trace.Ref{a, b}
	if got := s.measuredText(); got != "5s (p95 5s, measured on 11 pods)" {
		t.Error(got)
	}
	s.workloads = append(s.workloads, trace.Ref{Kind: "Deployment", Name: "new"})
	if got := s.measuredText(); got != "" {
		t.Error(got)
	}
}

// Nodes that are made up fit what pods look for on a node.
func TestFitTerm(t *testing.T) {
	labels := map[string]string{"zone": "b"}
	fitTerm(labels, []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
		{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"web", "batch"}},
		{Key: "gpu", Operator: corev1.NodeSelectorOpExists},
		{Key: "old", Operator: corev1.NodeSelectorOpDoesNotExist},
	}}, {MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "never", Operator: corev1.NodeSelectorOpExists}}}})
	if len(labels) != 3 || labels["zone"] != "b" || labels["pool"] != "web" || labels["gpu"] == "" {
		t.Errorf("labels %v", labels)
	}
}
