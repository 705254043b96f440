package derive

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Ref names an object as traces do. The kind is that of its Go type, since what
// clients decode has no kind of its own; it is empty for other kinds than those
// that traces are about.
func Ref(obj metav1.Object) trace.Ref {
	ref := trace.Ref{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	switch obj.(type) {
	case *appsv1.Deployment:
		ref.Kind = "Deployment"
	case *appsv1.ReplicaSet:
		ref.Kind = "ReplicaSet"
	case *corev1.Pod:
		ref.Kind = "Pod"
	case *corev1.Node:
		ref.Kind = "Node"
	}
	return ref
}
