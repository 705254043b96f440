package worlds

import (
	"context"
	"reflect"
	"unsafe"

	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/replicaset"
)

// One pass of a worker, with its error policy, called by hand. The empty link.s
// lets the compiler accept functions without bodies.

//go:linkname nextDeployment k8s.io/kubernetes/pkg/controller/deployment.(*DeploymentController).processNextWorkItem
func nextDeployment(dc *deployment.DeploymentController, ctx context.Context) bool

//go:linkname nextReplicaSet k8s.io/kubernetes/pkg/controller/replicaset.(*ReplicaSetController).processNextWorkItem
func nextReplicaSet(rsc *replicaset.ReplicaSetController, ctx context.Context) bool

// field is an unexported field of a controller, to read and to replace.
func field[T any](controller any, name string) *T {
	f := reflect.ValueOf(controller).Elem().FieldByName(name)
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}
