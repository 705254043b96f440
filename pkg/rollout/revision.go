package rollout

import (
	"maps"
	"math"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations of Deployments and their ReplicaSets.
const (
	RevisionAnnotation        = "deployment.kubernetes.io/revision"
	RevisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	DesiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	MaxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// maxRevisionHistory is how many bytes revision-history may have.
const maxRevisionHistory = 2000

// Revision is the revision annotation of a Deployment or ReplicaSet, 0 when it
// has none. One that is no integer is an error.
func Revision(obj metav1.Object) (int64, error) {
	s, ok := obj.GetAnnotations()[RevisionAnnotation]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(s, 10, 64)
}

// NextRevision is one more than the highest revision of the old ReplicaSets,
// where unreadable ones do not count. Upstream: MaxRevision.
func NextRevision(old []*appsv1.ReplicaSet) int64 {
	highest := int64(0)
	for _, rs := range old {
		if r, err := Revision(rs); err == nil {
			highest = max(highest, r)
		}
	}
	return highest + 1
}

// LastRevision is the second highest revision, which equals the highest when
// two ReplicaSets have it; 0 when there is none. Upstream: LastRevision.
func LastRevision(all []*appsv1.ReplicaSet) int64 {
	highest, second := int64(0), int64(0)
	for _, rs := range all {
		r, err := Revision(rs)
		switch {
		case err != nil:
		case r >= highest:
			highest, second = r, highest
		case r > second:
			second = r
		}
	}
	return second
}

// NewReplicaSetAnnotations is what the annotations of the new ReplicaSet should
// be, and whether they differ from what it has: those of the Deployment copied
// (none are removed), the revision raised to the one given but never lowered,
// and, when a ReplicaSet of an earlier revision is reused, that one noted in
// revision-history. A ReplicaSet about to be made also gets what it is sized for.
// A ReplicaSet whose revision is no integer counts as not different, whatever
// was copied. Upstream: SetNewReplicaSetAnnotations.
func NewReplicaSetAnnotations(d *appsv1.Deployment, rs *appsv1.ReplicaSet, revision int64, exists bool) (map[string]string, bool) {
	out, changed := withAnnotations(rs.Annotations, d.Annotations)
	was, had := out[RevisionAnnotation]
	wasNumber, err := strconv.ParseInt(was, 10, 64)
	if err != nil && was != "" {
		return out, false
	}
	if wasNumber < revision {
		if !changed {
			out = annotationsOf(out)
		}
		out[RevisionAnnotation] = strconv.FormatInt(revision, 10)
		changed = true
		if had {
			out[RevisionHistoryAnnotation] = appendHistory(out[RevisionHistoryAnnotation], was)
		}
	}
	if !exists {
		sized, differs := SizedFor(d, out)
		return sized, changed || differs
	}
	return out, changed
}

// withAnnotations is have with those of from that are not the controller's own,
// and whether they differ: have itself, which is not changed, when they do not.
func withAnnotations(have, from map[string]string) (out map[string]string, changed bool) {
	out = have
	for k, v := range from {
		if has, ok := have[k]; isOwnAnnotation(k) || ok && has == v {
			continue
		}
		if !changed {
			out, changed = annotationsOf(have), true
		}
		out[k] = v
	}
	return out, changed
}

// annotationsOf is a copy to add some to.
func annotationsOf(annotations map[string]string) map[string]string {
	out := make(map[string]string, len(annotations)+2)
	maps.Copy(out, annotations)
	return out
}

// isOwnAnnotation says whether an annotation belongs to one object alone and is
// never copied between a Deployment and its ReplicaSets.
func isOwnAnnotation(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation, RevisionAnnotation, RevisionHistoryAnnotation,
		DesiredReplicasAnnotation, MaxReplicasAnnotation, appsv1.DeprecatedRollbackTo:
		return true
	}
	return false
}

// appendHistory adds a revision to a comma separated list, dropping the oldest
// ones where it would become too long; if none can make room it stays as it is.
func appendHistory(history, revision string) string {
	revisions := strings.Split(history, ",")
	if revisions[0] == "" {
		return revision
	}
	length := len(history) + len(revision) + 1
	for length > maxRevisionHistory && len(revisions) > 0 {
		length -= len(revisions[0]) + 1
		revisions = revisions[1:]
	}
	if length > maxRevisionHistory {
		return history
	}
	return strings.Join(append(revisions, revision), ",")
}

// SizedFor is the annotations with desired-replicas and max-replicas as d has
// them now, and whether that differs from what was given.
// Upstream: SetReplicasAnnotations, ReplicasAnnotationsNeedUpdate.
func SizedFor(d *appsv1.Deployment, annotations map[string]string) (map[string]string, bool) {
	desired := strconv.Itoa(int(Desired(d)))
	most := strconv.Itoa(int(Desired(d) + MaxSurge(d)))
	if annotations[DesiredReplicasAnnotation] == desired && annotations[MaxReplicasAnnotation] == most {
		return annotations, false
	}
	out := annotationsOf(annotations)
	out[DesiredReplicasAnnotation] = desired
	out[MaxReplicasAnnotation] = most
	return out, true
}

// DesiredAnnotation is what spec.replicas of the Deployment was when the
// ReplicaSet was last sized; false when the annotation is missing or unreadable.
func DesiredAnnotation(rs *appsv1.ReplicaSet, v Version) (int32, bool) {
	return replicasAnnotation(rs, DesiredReplicasAnnotation, v)
}

func replicasAnnotation(rs *appsv1.ReplicaSet, key string, v Version) (int32, bool) {
	s, ok := rs.Annotations[key]
	if !ok {
		return 0, false
	}
	if !v.StrictReplicaAnnotations() {
		n, err := strconv.Atoi(s)
		return int32(n), err == nil
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}
