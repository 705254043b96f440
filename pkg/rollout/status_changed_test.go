package rollout

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// Each field of a status makes it another, and nothing else does.
func TestDeploymentStatusChanged(t *testing.T) {
	count := int32(3)
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UnavailableReplicas: 3,
		TerminatingReplicas: &count, CollisionCount: &count,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Message: "fine"}, {Type: appsv1.DeploymentProgressing}},
	}}
	if DeploymentStatusChanged(d, d.Status) || DeploymentStatusChanged(d, *d.Status.DeepCopy()) {
		t.Error("a status differs from itself")
	}
	for i := range reflect.TypeFor[appsv1.DeploymentStatus]().NumField() {
		other := *d.Status.DeepCopy()
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		if !DeploymentStatusChanged(d, other) {
			t.Errorf("%s does not count", reflect.TypeOf(other).Field(i).Name)
		}
	}
	other := *d.Status.DeepCopy()
	other.Conditions[0].Message = "not fine"
	if !DeploymentStatusChanged(d, other) {
		t.Error("what conditions say does not count")
	}
}
