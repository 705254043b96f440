package predict

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// A dump has no date; the newest moment it tells of is the nearest to one.
func TestNewestTime(t *testing.T) {
	at := func(minute int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 5, 1, 10, minute, 0, 0, time.UTC))
	}
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}}
		change(p)
		return p
	}
	for name, test := range map[string]struct {
		obj  manifest.Object
		want int
	}{
		"creation":   {pod(func(*corev1.Pod) {}), 1},
		"conditions": {pod(func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{LastTransitionTime: at(2)}} }), 2},
		"deletion is minus its grace period": {pod(func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(at(9)), ptr.To(int64(300))
		}), 4},
		"containers": {pod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(6)}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(5)}},
			}}
		}), 6},
		"progress":  {&appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{LastUpdateTime: at(7), LastTransitionTime: at(3)}}}}, 7},
		"heartbeat": {&corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{LastHeartbeatTime: at(8)}}}}, 8},
		"writes":    {&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Time: ptr.To(at(3))}}}}, 3},
	} {
		if got := NewestTime([]manifest.Object{test.obj}); !got.Equal(at(test.want).Time) {
			t.Errorf("%s: %s, want minute %d", name, got, test.want)
		}
	}
	if got := NewestTime(nil); !got.IsZero() {
		t.Errorf("nothing: %s", got)
	}
}
