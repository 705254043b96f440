package live

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// clientAPI is engine.API over a clientset, for one pass. Its writes are traced
// as the pass's.
type clientAPI struct {
	client kubernetes.Interface
	pass   *pass
}

var _ engine.API = &clientAPI{}

// write sends one request and traces it with its answer.
func write[T Object](a *clientAPI, r request, send func() (T, error)) (T, error) {
	a.pass.depart(r)
	out, err := send()
	if err != nil {
		a.pass.refused(r, err)
		var none T
		return none, err
	}
	a.pass.wrote(r, out)
	return out, nil
}

// requestOf describes a write of an object that the caller has.
func requestOf(verb, subresource, kind string, obj metav1.Object) request {
	name := obj.GetName()
	if name == "" {
		name = obj.GetGenerateName()
	}
	return request{verb: verb, subresource: subresource, ref: trace.Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: name}}
}

func namedRequest(verb, kind, namespace, name string) request {
	return request{verb: verb, ref: trace.Ref{Kind: kind, Namespace: namespace, Name: name}}
}

func (a *clientAPI) GetDeployment(ctx context.Context, namespace, name string) (*appsv1.Deployment, error) {
	return a.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (a *clientAPI) UpdateDeployment(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return write(a, requestOf("update", "", "Deployment", d), func() (*appsv1.Deployment, error) {
		return a.client.AppsV1().Deployments(d.Namespace).Update(ctx, d, metav1.UpdateOptions{})
	})
}

func (a *clientAPI) UpdateDeploymentStatus(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	a.pass.runner.host.guard.intend(d)
	return write(a, requestOf("update", "status", "Deployment", d), func() (*appsv1.Deployment, error) {
		return a.client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
	})
}

func (a *clientAPI) GetReplicaSet(ctx context.Context, namespace, name string) (*appsv1.ReplicaSet, error) {
	return a.client.AppsV1().ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (a *clientAPI) CreateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return write(a, requestOf("create", "", "ReplicaSet", rs), func() (*appsv1.ReplicaSet, error) {
		return a.client.AppsV1().ReplicaSets(rs.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	})
}

func (a *clientAPI) UpdateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return write(a, requestOf("update", "", "ReplicaSet", rs), func() (*appsv1.ReplicaSet, error) {
		return a.client.AppsV1().ReplicaSets(rs.Namespace).Update(ctx, rs, metav1.UpdateOptions{})
	})
}

func (a *clientAPI) UpdateReplicaSetStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return write(a, requestOf("update", "status", "ReplicaSet", rs), func() (*appsv1.ReplicaSet, error) {
		return a.client.AppsV1().ReplicaSets(rs.Namespace).UpdateStatus(ctx, rs, metav1.UpdateOptions{})
	})
}

func (a *clientAPI) PatchReplicaSet(ctx context.Context, namespace, name string, patch types.PatchType, data []byte) (*appsv1.ReplicaSet, error) {
	return write(a, namedRequest("patch", "ReplicaSet", namespace, name), func() (*appsv1.ReplicaSet, error) {
		return a.client.AppsV1().ReplicaSets(namespace).Patch(ctx, name, patch, data, metav1.PatchOptions{})
	})
}

func (a *clientAPI) DeleteReplicaSet(ctx context.Context, namespace, name string) error {
	return a.remove(namedRequest("delete", "ReplicaSet", namespace, name), func() error {
		return a.client.AppsV1().ReplicaSets(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

func (a *clientAPI) CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return write(a, requestOf("create", "", "Pod", pod), func() (*corev1.Pod, error) {
		return a.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	})
}

func (a *clientAPI) PatchPod(ctx context.Context, namespace, name string, patch types.PatchType, data []byte) (*corev1.Pod, error) {
	return write(a, namedRequest("patch", "Pod", namespace, name), func() (*corev1.Pod, error) {
		return a.client.CoreV1().Pods(namespace).Patch(ctx, name, patch, data, metav1.PatchOptions{})
	})
}

func (a *clientAPI) DeletePod(ctx context.Context, namespace, name string) error {
	return a.remove(namedRequest("delete", "Pod", namespace, name), func() error {
		return a.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// remove sends a deletion. Its answer has no version to derive anything from:
// what it did comes with the watch.
func (a *clientAPI) remove(r request, send func() error) error {
	err := send()
	answer := trace.Wrote{Verb: r.verb, Code: codeFor(r.verb)}
	if err != nil {
		answer.Code, answer.Error = codeOf(err), err.Error()
	}
	a.pass.said(r.ref, answer)
	return err
}
