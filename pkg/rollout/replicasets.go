package rollout

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Sets are the ReplicaSets of one Deployment.
type Sets struct {
	New *appsv1.ReplicaSet   // of the Deployment's template; nil when there is none
	Old []*appsv1.ReplicaSet // all others
}

// each is All, one after the other.
func (s Sets) each(yield func(*appsv1.ReplicaSet) bool) {
	for _, rs := range s.Old {
		if !yield(rs) {
			return
		}
	}
	if s.New != nil {
		yield(s.New)
	}
}

// All is Old with New, if there is one, at its end.
func (s Sets) All() []*appsv1.ReplicaSet {
	if s.New == nil {
		return slices.Clone(s.Old)
	}
	return append(s.Old[:len(s.Old):len(s.Old)], s.New)
}

// FindNewReplicaSet is the ReplicaSet with the Deployment's template, the oldest
// should several have it; nil when none has. Upstream: FindNewReplicaSet.
func FindNewReplicaSet(d *appsv1.Deployment, owned []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	return Split(d, owned).New
}

// Split tells the new ReplicaSet of a Deployment from the old ones, which come
// back in order of creation. Upstream: FindNewReplicaSet, FindOldReplicaSets.
func Split(d *appsv1.Deployment, owned []*appsv1.ReplicaSet) Sets {
	return splitBy(EqualIgnoreHash, d, owned)
}

// splitBy is Split by a comparison of templates.
func splitBy(alike func(a, b *corev1.PodTemplateSpec) bool, d *appsv1.Deployment, owned []*appsv1.ReplicaSet) Sets {
	var sets Sets
	sorted := ByCreation(owned)
	sets.Old = sorted[:0]
	for _, rs := range sorted {
		if sets.New == nil && alike(&rs.Spec.Template, &d.Spec.Template) {
			sets.New = rs
		} else {
			sets.Old = append(sets.Old, rs)
		}
	}
	return sets
}

// EqualIgnoreHash compares two templates by meaning (nil is empty, quantities
// by value), leaving out the label pod-template-hash.
func EqualIgnoreHash(a, b *corev1.PodTemplateSpec) bool {
	x, y := *a, *b
	x.Labels, y.Labels = withoutHash(a.Labels), withoutHash(b.Labels)
	return apiequality.Semantic.DeepEqual(x, y)
}

// withoutHash is a copy of the labels without pod-template-hash.
func withoutHash(labels map[string]string) map[string]string {
	out := make(map[string]string, len(labels))
	for k, v := range labels {
		if k != appsv1.DefaultDeploymentUniqueLabelKey {
			out[k] = v
		}
	}
	return out
}

// Size is spec.replicas; a ReplicaSet that never passed the API server's
// defaults has 1.
func Size(rs *appsv1.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

// TotalSize adds up the sizes.
func TotalSize(sets []*appsv1.ReplicaSet) int32 {
	total := int32(0)
	for _, rs := range sets {
		total += Size(rs)
	}
	return total
}

// totalSize is TotalSize of all.
func (s Sets) totalSize() int32 {
	total := TotalSize(s.Old)
	if s.New != nil {
		total += Size(s.New)
	}
	return total
}

// Active are those with a size above 0.
func Active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	var active []*appsv1.ReplicaSet
	for _, rs := range sets {
		if Size(rs) > 0 {
			active = append(active, rs)
		}
	}
	return active
}

// ActiveOrLatest is the only active ReplicaSet or, when none is active, the new
// one, else the newest old one. It is nil when several are active or none exists.
// Upstream: FindActiveOrLatest.
func ActiveOrLatest(sets Sets) *appsv1.ReplicaSet {
	active := Active(sets.All())
	switch {
	case len(active) == 1:
		return active[0]
	case len(active) > 1:
		return nil
	case sets.New != nil:
		return sets.New
	case len(sets.Old) > 0:
		return slices.MaxFunc(sets.Old, compareCreation)
	}
	return nil
}

// ByCreation is the list from oldest to newest, by name within one second.
func ByCreation(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	sorted := slices.Clone(sets)
	slices.SortFunc(sorted, compareCreation)
	return sorted
}

// ByNewest is the list from newest to oldest: the reverse of ByCreation.
func ByNewest(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	sorted := ByCreation(sets)
	slices.Reverse(sorted)
	return sorted
}

// bySize is the list from largest to smallest, and within one size from newest
// to oldest, or the other way.
func bySize(sets []*appsv1.ReplicaSet, newestFirst bool) []*appsv1.ReplicaSet {
	return slices.SortedFunc(slices.Values(sets), func(a, b *appsv1.ReplicaSet) int {
		switch {
		case Size(a) > Size(b):
			return -1
		case Size(a) < Size(b):
			return 1
		case newestFirst:
			return compareCreation(b, a)
		}
		return compareCreation(a, b)
	})
}

func compareCreation(a, b *appsv1.ReplicaSet) int {
	switch {
	case a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return strings.Compare(a.Name, b.Name)
	case a.CreationTimestamp.Before(&b.CreationTimestamp):
		return -1
	}
	return 1
}
