package validate

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

// TestMemory makes updates one after the other, of which some are refused and
// some leave most as it was: a memory says of each what one without any says.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, old := NewMemory(), storedSet(rapid.Bool().Draw(t, "with a fault"))
		for round := range 8 {
			next := *old
			for range rapid.IntRange(0, 2).Draw(t, "edits") {
				rapid.SampledFrom(setEdits).Draw(t, "edit")(&next)
			}
			want, got := ReplicaSetUpdate(&next, old, rollout.LatestVersion), m.ReplicaSetUpdate(&next, old, rollout.LatestVersion)
			if rapid.Bool().Draw(t, "status only") {
				want, got = ReplicaSetStatusUpdate(&next, old), m.ReplicaSetStatusUpdate(&next, old)
			}
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Fatalf("round %d: %v, not %v", round, got, want)
			}
			if len(want) == 0 {
				old = &next
			}
		}
	})
}

// storedSet is a ReplicaSet as it is stored; one with a fault came before its rule.
func storedSet(fault bool) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: types.UID("u"), ResourceVersion: "1", Generation: 1}}
	rs.Labels = map[string]string{"app": "web"}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs.Spec.Template.Labels = map[string]string{"app": "web"}
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx"}}
	if fault {
		rs.Spec.Template.Annotations = map[string]string{corev1.PodDeletionCost: "dear"}
		rs.Labels = map[string]string{"app": "not valid!"}
	}
	defaults.ReplicaSet(rs)
	return rs
}

// setEdits change a copy that shares all it points to.
var setEdits = []func(*appsv1.ReplicaSet){
	func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = ptr.To(*rs.Spec.Replicas + 1); rs.Generation++ },
	func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = ptr.To(int32(-1)) },
	func(rs *appsv1.ReplicaSet) { rs.Generation-- },
	func(rs *appsv1.ReplicaSet) { rs.ResourceVersion = "" },
	func(rs *appsv1.ReplicaSet) { rs.Labels = map[string]string{"app": "web", "b": "-"} },
	func(rs *appsv1.ReplicaSet) { rs.Labels = map[string]string{"app": "web"} },
	func(rs *appsv1.ReplicaSet) { rs.Annotations = map[string]string{"a/b/c": ""} },
	func(rs *appsv1.ReplicaSet) { rs.Finalizers = []string{"mine"} },
	func(rs *appsv1.ReplicaSet) { rs.DeletionTimestamp = ptr.To(metav1.Unix(7, 0)) },
	func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment"}} },
	func(rs *appsv1.ReplicaSet) { rs.UID = "other" },
	func(rs *appsv1.ReplicaSet) {
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	},
	func(rs *appsv1.ReplicaSet) {
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
	},
	func(rs *appsv1.ReplicaSet) {
		rs.Spec.Template = *rs.Spec.Template.DeepCopy()
		rs.Spec.Template.Spec.Containers[0].Name = "Not A Name"
	},
	func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Labels = map[string]string{"app": "other"} },
	func(rs *appsv1.ReplicaSet) {
		rs.Spec.Template.Annotations = map[string]string{corev1.PodDeletionCost: "cheap"}
	},
	func(rs *appsv1.ReplicaSet) { rs.Status.ReadyReplicas = 3 },
	func(rs *appsv1.ReplicaSet) { rs.Status.Replicas = 5 },
	func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = -1 },
}
