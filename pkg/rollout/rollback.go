package rollout

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
)

// RollbackTo is the revision the annotation deprecated.deployment.rollback.to
// asks for, 0 being the last one before the present; false when it is missing,
// empty or no integer. Upstream: getRollbackTo.
func RollbackTo(d *appsv1.Deployment) (int64, bool) {
	asked := d.Annotations[appsv1.DeprecatedRollbackTo]
	if asked == "" {
		return 0, false
	}
	revision, err := strconv.ParseInt(asked, 10, 64)
	return revision, err == nil
}

// FindRevision is the first ReplicaSet of a revision; nil when none has it.
func FindRevision(all []*appsv1.ReplicaSet, revision int64) *appsv1.ReplicaSet {
	for _, rs := range all {
		if r, err := Revision(rs); err == nil && r == revision {
			return rs
		}
	}
	return nil
}

// RolledBack is the Deployment with the template and annotations of rs.
// Annotations that belong to the Deployment alone stay; all others come from rs.
// Upstream: SetFromReplicaSetTemplate, SetDeploymentAnnotationsTo.
func RolledBack(d *appsv1.Deployment, rs *appsv1.ReplicaSet) *appsv1.Deployment {
	out := d.DeepCopy()
	out.Spec.Template = *rs.Spec.Template.DeepCopy()
	out.Spec.Template.Labels = withoutHash(rs.Spec.Template.Labels)
	own := maps.Clone(d.Annotations)
	maps.DeleteFunc(own, func(k, _ string) bool { return !isOwnAnnotation(k) })
	out.Annotations, _ = withAnnotations(own, rs.Annotations)
	return out
}

// WithoutRollback is the Deployment without the annotation that asks for a rollback.
func WithoutRollback(d *appsv1.Deployment) *appsv1.Deployment {
	out := d.DeepCopy()
	delete(out.Annotations, appsv1.DeprecatedRollbackTo)
	return out
}
