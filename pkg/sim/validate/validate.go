// Package validate refuses what a kube-apiserver 1.37 refuses in Deployments,
// ReplicaSets and Pods, with the same paths, values and words, without a
// server. Objects must have been through package defaults first: the API server
// validates what it has decoded and filled in.
//
// The rules are those of pkg/apis/apps/validation and pkg/apis/core/validation
// with the feature gates a 1.37 cluster has by default; which of
// them are covered is listed in docs/validation.md. Errors come in the API
// server's order; where that one is the random order of a map, in the order of
// the keys.
package validate

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// The kinds Invalid is used with.
var (
	DeploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind()
	ReplicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind()
	PodKind        = corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()
)

// Invalid is the API server's answer to an object with violations, all of them
// at once and each text once: `Deployment.apps "NAME" is invalid: …`, HTTP 422.
// It is nil when there are none.
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(kind, name, errs)
}

// Deployment checks a Deployment that is to be created.
// Source: ValidateDeployment.
func Deployment(d *appsv1.Deployment, v rollout.Version) field.ErrorList {
	return printed(join(
		objectMeta(&d.ObjectMeta),
		deploymentSpec(&d.Spec, d.Annotations, strictly(d.Spec.Selector, &d.Spec.Template)),
	), v)
}

// DeploymentUpdate checks a Deployment that is to replace another in the main
// resource. What was already wrong in the old template may stay where the API
// server lets it. Source: ValidateDeploymentUpdate.
func DeploymentUpdate(new, old *appsv1.Deployment, v rollout.Version) field.ErrorList {
	return NewMemory().DeploymentUpdate(new, old, v)
}

// DeploymentStatusUpdate checks a write to a Deployment's status.
// Source: ValidateDeploymentStatusUpdate.
func DeploymentStatusUpdate(new, old *appsv1.Deployment) field.ErrorList {
	return NewMemory().DeploymentStatusUpdate(new, old)
}

// ReplicaSet checks a ReplicaSet that is to be created.
// Source: ValidateReplicaSet.
func ReplicaSet(rs *appsv1.ReplicaSet, v rollout.Version) field.ErrorList {
	return printed(join(
		objectMeta(&rs.ObjectMeta),
		replicaSetSpec(&rs.Spec, strictly(rs.Spec.Selector, &rs.Spec.Template)),
	), v)
}

// ReplicaSetUpdate checks a ReplicaSet that is to replace another in the main
// resource. Source: ValidateReplicaSetUpdate.
func ReplicaSetUpdate(new, old *appsv1.ReplicaSet, v rollout.Version) field.ErrorList {
	return NewMemory().ReplicaSetUpdate(new, old, v)
}

// ReplicaSetStatusUpdate checks a write to a ReplicaSet's status. Unlike a
// Deployment's, none of its numbers is bound to the old one.
// Source: ValidateReplicaSetStatusUpdate.
func ReplicaSetStatusUpdate(new, old *appsv1.ReplicaSet) field.ErrorList {
	return NewMemory().ReplicaSetStatusUpdate(new, old)
}

// Pod checks a Pod that is to be created. Source: ValidatePodCreate.
func Pod(p *corev1.Pod, v rollout.Version) field.ErrorList {
	return printed(podCreate(p), v)
}
