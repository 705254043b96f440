package explain

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// cache is engine.Cache over a snapshot: a controller that has seen everything.
type cache struct{ *Snapshot }

var _ engine.Cache = cache{}

func (c cache) Deployment(namespace, name string) (*appsv1.Deployment, error) {
	if d, ok := find(c.Snapshot.Deployments, namespace, name); ok {
		return d, nil
	}
	return nil, apierrors.NewNotFound(appsv1.Resource("deployments"), name)
}

func (c cache) ReplicaSet(namespace, name string) (*appsv1.ReplicaSet, error) {
	if rs, ok := find(c.Snapshot.ReplicaSets, namespace, name); ok {
		return rs, nil
	}
	return nil, apierrors.NewNotFound(appsv1.Resource("replicasets"), name)
}

func (c cache) Deployments(namespace string) []*appsv1.Deployment {
	return in(c.Snapshot.Deployments, namespace)
}

func (c cache) ReplicaSets(namespace string) []*appsv1.ReplicaSet {
	return in(c.Snapshot.ReplicaSets, namespace)
}

func (c cache) PodsIn(namespace string) []*corev1.Pod { return in(c.Pods, namespace) }

func (c cache) ReplicaSetsOf(owner types.UID) []*appsv1.ReplicaSet {
	return controlled(c.Snapshot.ReplicaSets, func(ref *metav1.OwnerReference) bool { return ref != nil && ref.UID == owner })
}

func (c cache) PodsOf(namespace, name string, uid types.UID) []*corev1.Pod {
	return controlled(in(c.Pods, namespace), func(ref *metav1.OwnerReference) bool {
		return ref != nil && ref.Kind == "ReplicaSet" && ref.Name == name && ref.UID == uid
	})
}

func (c cache) OrphanPods(namespace string) []*corev1.Pod {
	return controlled(in(c.Pods, namespace), func(ref *metav1.OwnerReference) bool { return ref == nil })
}

// LastSynced is unknown, which stops nobody: no pass has written before.
func (c cache) LastSynced(string) string { return "" }

func in[T metav1.Object](list []T, namespace string) []T {
	var out []T
	for _, obj := range list {
		if obj.GetNamespace() == namespace {
			out = append(out, obj)
		}
	}
	return out
}

func controlled[T metav1.Object](list []T, by func(*metav1.OwnerReference) bool) []T {
	var out []T
	for _, obj := range list {
		if by(metav1.GetControllerOfNoCopy(obj)) {
			out = append(out, obj)
		}
	}
	return out
}
