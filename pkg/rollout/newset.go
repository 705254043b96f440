package rollout

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// DeploymentKind is the kind in the controller references of ReplicaSets.
var DeploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// NewReplicaSet is the ReplicaSet to make for the template of d beside the old
// ones: its labels come from the template, its annotations from the Deployment.
// The budget says why it has its size. Errors are those of NewReplicaSetSize.
// Upstream: getNewReplicaSet.
func NewReplicaSet(d *appsv1.Deployment, old []*appsv1.ReplicaSet, revision int64, v Version) (*appsv1.ReplicaSet, Budget, error) {
	hash := ComputeHash(&d.Spec.Template, d.Status.CollisionCount)
	template := d.Spec.Template.DeepCopy()
	template.Labels = withHash(template.Labels, hash)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:            replicaSetName(d.Name, hash, v),
			Namespace:       d.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, DeploymentKind)},
			Labels:          maps.Clone(template.Labels),
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        new(int32),
			MinReadySeconds: d.Spec.MinReadySeconds,
			Selector:        selectorWithHash(d.Spec.Selector, hash),
			Template:        *template,
		},
	}
	size, budget, err := NewReplicaSetSize(d, old, rs)
	if err != nil {
		return nil, Budget{}, err
	}
	*rs.Spec.Replicas = size
	rs.Annotations, _ = NewReplicaSetAnnotations(d, rs, revision, false)
	return rs, budget, nil
}

func withHash(labels map[string]string, hash string) map[string]string {
	out := make(map[string]string, len(labels)+1)
	maps.Copy(out, labels)
	out[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return out
}

func selectorWithHash(selector *metav1.LabelSelector, hash string) *metav1.LabelSelector {
	out := selector.DeepCopy()
	if out == nil {
		out = &metav1.LabelSelector{}
	}
	out.MatchLabels = withHash(out.MatchLabels, hash)
	return out
}

// replicaSetName is the Deployment's name, cut where it would get too long, and the hash.
func replicaSetName(deployment, hash string, v Version) string {
	longest := validation.DNS1123SubdomainMaxLength - len("-") - len(hash)
	if v.TruncatesReplicaSetName() && len(deployment) > longest {
		deployment = deployment[:longest]
	}
	return deployment + "-" + hash
}
