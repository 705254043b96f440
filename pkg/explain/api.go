package explain

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// refusingAPI takes no write. It answers each as if it had been taken, as a dry
// run does, so that the pass goes on to its end, and notes what it would have
// changed.
type refusingAPI struct{ r *rehearsal }

var _ engine.API = refusingAPI{}

func (a refusingAPI) GetDeployment(_ context.Context, namespace, name string) (*appsv1.Deployment, error) {
	return cache{a.r.snapshot}.Deployment(namespace, name)
}

func (a refusingAPI) GetReplicaSet(_ context.Context, namespace, name string) (*appsv1.ReplicaSet, error) {
	return cache{a.r.snapshot}.ReplicaSet(namespace, name)
}

// UpdateDeployment is asked for with a rollback, which is worth telling.
func (a refusingAPI) UpdateDeployment(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	was, err := a.GetDeployment(ctx, d.Namespace, d.Name)
	if err != nil {
		return nil, err
	}
	a.r.note(0, derive.Ref(d), trace.Changed{Verb: "update", Fields: trace.Diff(was, d)})
	return d, nil
}

func (a refusingAPI) UpdateDeploymentStatus(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	was, err := a.GetDeployment(ctx, d.Namespace, d.Name)
	if err != nil {
		return nil, err
	}
	derive.Deployment(d, was, func() []*appsv1.ReplicaSet { return a.r.snapshot.setsOf(was) }, a.emit(derive.Ref(d)))
	return d, nil
}

func (a refusingAPI) UpdateReplicaSetStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	was, err := a.GetReplicaSet(ctx, rs.Namespace, rs.Name)
	if err != nil {
		return nil, err
	}
	derive.ReplicaSet(rs, was, a.emit(derive.Ref(rs)))
	return rs, nil
}

func (a refusingAPI) emit(about trace.Ref) derive.Emit {
	return func(d trace.Detail) { a.r.note(0, about, d) }
}

func (a refusingAPI) CreateReplicaSet(_ context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	a.scaled(rs, nil)
	return rs, nil
}

func (a refusingAPI) UpdateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	was, err := a.GetReplicaSet(ctx, rs.Namespace, rs.Name)
	if err != nil {
		return nil, err
	}
	a.scaled(rs, was)
	return rs, nil
}

// scaled notes a change of size; that of the controllers' annotations alone says nothing.
func (a refusingAPI) scaled(rs, was *appsv1.ReplicaSet) {
	ref, size := derive.Ref(rs), rollout.Size(rs)
	sized := *rs
	sized.Spec.Replicas = &size
	if was != nil {
		before, from := *was, rollout.Size(was)
		before.Spec.Replicas = &from
		was = &before
	}
	if s, moved := derive.Scaled(&sized, was, a.r.rules[ref]); moved {
		a.r.note(a.r.decided[ref], ref, s)
	}
}

// PatchReplicaSet adopts or releases, which the controller tells itself.
func (a refusingAPI) PatchReplicaSet(ctx context.Context, namespace, name string, _ types.PatchType, _ []byte) (*appsv1.ReplicaSet, error) {
	return a.GetReplicaSet(ctx, namespace, name)
}

// DeleteReplicaSet is told by the controller, with the reason.
func (a refusingAPI) DeleteReplicaSet(context.Context, string, string) error { return nil }

func (a refusingAPI) CreatePod(_ context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ref := trace.Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.GenerateName}
	a.r.note(a.r.latest(), ref, trace.Created{Owner: derive.Owner(pod)})
	return pod, nil
}

// PatchPod adopts or releases, which the controller tells itself.
func (a refusingAPI) PatchPod(_ context.Context, namespace, name string, _ types.PatchType, _ []byte) (*corev1.Pod, error) {
	pod, _ := find(a.r.snapshot.Pods, namespace, name)
	return pod, nil
}

// DeletePod is told by the controller, with the rank.
func (a refusingAPI) DeletePod(context.Context, string, string) error { return nil }
