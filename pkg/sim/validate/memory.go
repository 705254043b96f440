package validate

import (
	"reflect"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// Memory checks updates of Deployments and ReplicaSets and remembers what was
// without fault. A controller writes counts and sizes: the metadata and the
// template that a write shares with the stored object need no second look. It
// relies on stored objects never being changed. Not safe for concurrent use.
type Memory struct {
	metas     map[parts]bool
	templates map[selected]bool
}

// parts are what metadata points to: where they lie tells them apart.
type parts struct {
	labels, annotations unsafe.Pointer
	owners              *metav1.OwnerReference // the first
	owned               int
}

func partsOf(m *metav1.ObjectMeta) parts {
	p := parts{labels: reflect.ValueOf(m.Labels).UnsafePointer(), annotations: reflect.ValueOf(m.Annotations).UnsafePointer()}
	if p.owned = len(m.OwnerReferences); p.owned > 0 {
		p.owners = &m.OwnerReferences[0]
	}
	return p
}

// selected is a template under a selector.
type selected struct {
	template rollout.Identity
	selector *metav1.LabelSelector
}

// NewMemory remembers nothing yet.
func NewMemory() *Memory {
	return &Memory{metas: map[parts]bool{}, templates: map[selected]bool{}}
}

// DeploymentUpdate is the function of that name.
func (m *Memory) DeploymentUpdate(new, old *appsv1.Deployment, v rollout.Version) field.ErrorList {
	return printed(join(
		m.metaUpdate(&new.ObjectMeta, &old.ObjectMeta),
		deploymentSpec(&new.Spec, new.Annotations, m.template(new.Spec.Selector, &new.Spec.Template, &old.Spec.Template)),
		immutableSelector(new.Spec.Selector, old.Spec.Selector),
	), v)
}

// DeploymentStatusUpdate is the function of that name.
func (m *Memory) DeploymentStatusUpdate(new, old *appsv1.Deployment) field.ErrorList {
	return join(m.metaUpdate(&new.ObjectMeta, &old.ObjectMeta), deploymentStatus(&new.Status, &old.Status))
}

// ReplicaSetUpdate is the function of that name.
func (m *Memory) ReplicaSetUpdate(new, old *appsv1.ReplicaSet, v rollout.Version) field.ErrorList {
	return printed(join(
		m.metaUpdate(&new.ObjectMeta, &old.ObjectMeta),
		replicaSetSpec(&new.Spec, m.template(new.Spec.Selector, &new.Spec.Template, &old.Spec.Template)),
		immutableSelector(new.Spec.Selector, old.Spec.Selector),
	), v)
}

// ReplicaSetStatusUpdate is the function of that name.
func (m *Memory) ReplicaSetStatusUpdate(new, old *appsv1.ReplicaSet) field.ErrorList {
	return join(m.metaUpdate(&new.ObjectMeta, &old.ObjectMeta), replicaSetStatus(&new.Status))
}

// metaUpdate is ObjectMetaUpdate.
func (m *Memory) metaUpdate(new, old *metav1.ObjectMeta) field.ErrorList {
	if m.metas[partsOf(new)] && plainUpdate(new, old) {
		return nil
	}
	errs := ObjectMetaUpdate(new, old)
	if len(errs) == 0 {
		m.metas[partsOf(new)] = true
	}
	return errs
}

// plainUpdate: all that an update may not change is the same in memory, there is
// a version, the generation did not fall, and nothing else is to be checked but
// what the metadata's parts say.
func plainUpdate(new, old *metav1.ObjectMeta) bool {
	return new.ResourceVersion != "" && new.Generation >= old.Generation && old.Generation >= 0 &&
		new.Name == old.Name && new.Namespace == old.Namespace && new.UID == old.UID &&
		new.CreationTimestamp == old.CreationTimestamp && new.DeletionTimestamp == old.DeletionTimestamp &&
		new.DeletionGracePeriodSeconds == old.DeletionGracePeriodSeconds &&
		len(new.Finalizers) == 0 && len(new.ManagedFields) == 0
}

// templateErrors are those of a workload's selector and template.
type templateErrors func() field.ErrorList

// template is selectorAndTemplate for an update. A template that is valid
// without any leniency is so under every other.
func (m *Memory) template(s *metav1.LabelSelector, t, old *corev1.PodTemplateSpec) templateErrors {
	return func() field.ErrorList {
		id, ok := rollout.Identify(t)
		key := selected{id, s}
		if ok && m.templates[key] {
			return nil
		}
		keep := leniencyOf(old)
		errs := selectorAndTemplate(s, t, keep)
		if ok && len(errs) == 0 && keep == (leniency{}) {
			m.templates[key] = true
		}
		return errs
	}
}

func immutableSelector(new, old *metav1.LabelSelector) field.ErrorList {
	if new == old {
		return nil
	}
	return apivalidation.ValidateImmutableField(new, old, field.NewPath("spec", "selector"))
}
