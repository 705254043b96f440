package arithmetic

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

var logger = klog.Background()

func names(sets []*appsv1.ReplicaSet) []string {
	out := []string{}
	for _, rs := range sets {
		if rs != nil {
			out = append(out, rs.Name)
		}
	}
	return out
}

func name(rs *appsv1.ReplicaSet) string { return strings.Join(names([]*appsv1.ReplicaSet{rs}), "") }

func TestFenceposts(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		surge, unavailable, n := r.limit(), r.limit(), r.count()
		us, uu, uerr := util.ResolveFenceposts(surge, unavailable, n)
		os, ou, oerr := rollout.Fenceposts(surge, unavailable, n)
		d := r.deployment()
		return []compared{
			same("ResolveFenceposts", []any{os, ou, text(oerr)}, []any{us, uu, text(uerr)}, []any{surge, unavailable, n}),
			same("MaxSurge", rollout.MaxSurge(d), util.MaxSurge(*d), d),
			same("MaxUnavailable", rollout.MaxUnavailable(d), util.MaxUnavailable(*d), d),
			same("MinAvailable", rollout.MinAvailable(d), util.MinAvailable(d), d),
		}
	})
}

func TestNewReplicaSetSize(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		d := r.deployment()
		if d.Spec.Strategy.RollingUpdate.MaxSurge == nil {
			d.Spec.Strategy.RollingUpdate.MaxUnavailable = nil
		}
		sets := append(r.sets(d), r.sets(d)...)
		if len(sets) == 0 {
			return nil
		}
		newSet := sets[r.IntN(len(sets))]
		want, uerr := util.NewRSNewReplicas(d, sets, newSet)
		got, _, oerr := rollout.NewReplicaSetSize(d, sets, newSet)
		return []compared{same("NewRSNewReplicas", []any{got, text(oerr)}, []any{want, text(uerr)}, []any{d, sets, newSet.Name})}
	})
}

func TestSplit(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		d := r.deployment()
		sets := r.sets(d)
		newSet := util.FindNewReplicaSet(d, slices.Clone(sets))
		sorted := slices.Clone(sets)
		util.FindNewReplicaSet(d, sorted) // sorts, as FindOldReplicaSets relies on
		_, old := util.FindOldReplicaSets(d, sorted)
		ours := rollout.Split(d, slices.Clone(sets))
		byCreation := slices.Clone(sets)
		sort.Sort(controller.ReplicaSetsByCreationTimestamp(byCreation))
		newer, older := slices.Clone(sets), slices.Clone(sets)
		sort.Sort(controller.ReplicaSetsBySizeNewer(newer))
		sort.Sort(controller.ReplicaSetsBySizeOlder(older))
		return []compared{
			same("FindNewReplicaSet", name(ours.New), name(newSet), []any{d, sets}),
			same("FindOldReplicaSets", names(ours.Old), names(old), []any{d, sets}),
			same("FindActiveOrLatest", name(rollout.ActiveOrLatest(ours)), name(util.FindActiveOrLatest(newSet, slices.Clone(old))), []any{d, sets}),
			same("IsSaturated", ourSaturated(d, ours.New), util.IsSaturated(d, newSet), []any{d, newSet}),
			same("FilterActiveReplicaSets", names(rollout.Active(sets)), names(controller.FilterActiveReplicaSets(sets)), sets),
			same("ReplicaSetsByCreationTimestamp", names(rollout.ByCreation(sets)), names(byCreation), sets),
			same("ReplicaSetsBySizeNewer", names(ourBySize(sets, true)), names(newer), sets),
			same("ReplicaSetsBySizeOlder", names(ourBySize(sets, false)), names(older), sets),
			same("GetReplicaCountForReplicaSets", rollout.TotalSize(sets), util.GetReplicaCountForReplicaSets(sets), sets),
		}
	})
}

func TestProportion(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		d := r.deployment()
		rs := r.oneSet(d)
		more, fewer := r.count(), r.count()
		toAdd := more - fewer
		added := toAdd - toAdd/int32(1+r.IntN(4))
		want := util.GetReplicaSetProportion(logger, rs, *d, toAdd, added)
		got := int32(0)
		if *rs.Spec.Replicas != 0 && toAdd != 0 && toAdd != added {
			got = ourShare(d, rs, toAdd-added, version).Result
		}
		return []compared{same("GetReplicaSetProportion", got, want, []any{d, rs, toAdd, added})}
	})
}

func (r draw) oneSet(d *appsv1.Deployment) *appsv1.ReplicaSet {
	for {
		if sets := r.sets(d); len(sets) > 0 {
			return sets[0]
		}
	}
}

func TestAnnotations(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		d := r.deployment()
		rs := r.oneSet(d)
		revision, exists := int64(r.IntN(12)), r.chance(50)
		theirs := rs.DeepCopy()
		changed := util.SetNewReplicaSetAnnotations(context.Background(), d, theirs, strconv.FormatInt(revision, 10), exists, 2000)
		annotations, ourChanged := rollout.NewReplicaSetAnnotations(d, rs, revision, exists)
		sized := rs.DeepCopy()
		resized := util.SetReplicasAnnotations(sized, *d.Spec.Replicas, *d.Spec.Replicas+util.MaxSurge(*d))
		ourSized, ourResized := rollout.SizedFor(d, rs.Annotations)
		desired, ok := util.GetDesiredReplicasAnnotation(logger, rs)
		ourDesired, ourOK := rollout.DesiredAnnotation(rs, version)
		return []compared{
			same("SetNewReplicaSetAnnotations", []any{sortedMap(annotations), ourChanged}, []any{sortedMap(theirs.Annotations), changed}, []any{d.Annotations, rs.Annotations, revision, exists}),
			same("SetReplicasAnnotations", []any{sortedMap(ourSized), ourResized}, []any{sortedMap(sized.Annotations), resized}, []any{d, rs.Annotations}),
			same("ReplicasAnnotationsNeedUpdate", ourResized, util.ReplicasAnnotationsNeedUpdate(rs, *d.Spec.Replicas, *d.Spec.Replicas+util.MaxSurge(*d)), []any{d, rs.Annotations}),
			same("GetDesiredReplicasAnnotation", []any{ourDesired, ourOK}, []any{desired, ok}, rs.Annotations),
		}
	})
}

// sortedMap does not tell nil from empty: the API server does not either.
func sortedMap(m map[string]string) []string {
	out := []string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return out
}

func TestRevisions(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		d := r.deployment()
		sets := r.sets(d)
		byRevision, ours := slices.Clone(sets), slices.Clone(sets)
		sort.Sort(util.ReplicaSetsByRevision(byRevision))
		slices.SortFunc(ours, ourCompareRevision)
		revision, err := util.Revision(d)
		ourRevision, ourErr := rollout.Revision(d)
		out := []compared{
			same("MaxRevision", rollout.NextRevision(sets)-1, util.MaxRevision(logger, sets), sets),
			same("LastRevision", rollout.LastRevision(sets), util.LastRevision(logger, sets), sets),
			same("Revision", []any{ourRevision, text(ourErr)}, []any{revision, text(err)}, d.Annotations),
		}
		if readable(sets) { // what cannot be read makes the order circular, in which sorts differ
			out = append(out, same("ReplicaSetsByRevision", names(ours), names(byRevision), sets))
		}
		return append(out, rollbacks(d, sets)...)
	})
}

func readable(sets []*appsv1.ReplicaSet) bool {
	return !slices.ContainsFunc(sets, func(rs *appsv1.ReplicaSet) bool {
		_, err := rollout.Revision(rs)
		return err != nil
	})
}

func rollbacks(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) []compared {
	to, ok := rollout.RollbackTo(d)
	theirs := upstreamRollbackTo(d)
	out := []compared{same("getRollbackTo", ok, theirs != nil, d.Annotations)}
	if theirs != nil {
		out = append(out, same("getRollbackTo revision", to, theirs.Revision, d.Annotations))
	}
	if len(sets) > 0 {
		back := d.DeepCopy()
		util.SetFromReplicaSetTemplate(back, *sets[0].Spec.Template.DeepCopy())
		util.SetDeploymentAnnotationsTo(back, sets[0].DeepCopy())
		ours := rollout.RolledBack(d, sets[0])
		out = append(out,
			same("SetFromReplicaSetTemplate", ours.Spec.Template.Spec, back.Spec.Template.Spec, sets[0]),
			same("SetFromReplicaSetTemplate labels", sortedMap(ours.Spec.Template.Labels), sortedMap(back.Spec.Template.Labels), sets[0]),
			same("SetDeploymentAnnotationsTo", sortedMap(ours.Annotations), sortedMap(back.Annotations), []any{d.Annotations, sets[0].Annotations}))
	}
	return out
}

func TestDeploymentConditions(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		s := r.deploymentStatus()
		kind := pick(r, appsv1.DeploymentProgressing, appsv1.DeploymentAvailable, appsv1.DeploymentReplicaFailure)
		c := r.deploymentCondition(kind)
		set, removed := s.DeepCopy(), s.DeepCopy()
		util.SetDeploymentCondition(set, c)
		util.RemoveDeploymentCondition(removed, kind)
		return []compared{
			same("GetDeploymentCondition", rollout.Condition(s.Conditions, kind), util.GetDeploymentCondition(s, kind), s),
			same("SetDeploymentCondition", rollout.SetCondition(s.Conditions, c), set.Conditions, []any{s, c}),
			same("RemoveDeploymentCondition", rollout.RemoveCondition(s.Conditions, kind), removed.Conditions, []any{s, kind}),
		}
	})
}

func TestProgress(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		d, next := r.deployment(), r.deploymentStatus()
		if r.chance(50) { // near completion
			next.Replicas, next.UpdatedReplicas, next.AvailableReplicas = *d.Spec.Replicas, *d.Spec.Replicas, *d.Spec.Replicas
		}
		if r.chance(50) { // near no progress
			d.Status = *next.DeepCopy()
			d.Status.ReadyReplicas += int32(r.IntN(3)) - 1
		}
		return []compared{
			same("DeploymentComplete", rollout.Complete(d, next), util.DeploymentComplete(d, &next), []any{d, next}),
			same("DeploymentProgressing", rollout.Progressed(d.Status, next), util.DeploymentProgressing(d, &next), []any{d, next}),
			same("DeploymentTimedOut", rollout.TimedOut(d, next, r.now), util.DeploymentTimedOut(context.Background(), d, &next), []any{d, next}),
			same("HasProgressDeadline", rollout.HasProgressDeadline(d), util.HasProgressDeadline(d), d),
		}
	})
}

func TestDeploymentStatus(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		d := r.deployment()
		sets := rollout.Split(d, r.sets(d))
		theirs := upstreamDeploymentStatus(append(slices.Clone(sets.Old), sets.New), sets.New, d)
		return []compared{same("calculateStatus", rollout.DeploymentStatus(d, sets, version, r.now), theirs, []any{d, sets})}
	})
}

func TestTemplates(t *testing.T) {
	fuzz(t, func(r draw) []compared {
		a, b := r.template(), r.template()
		count := pick(r, nil, new(int32(0)), new(r.count()), new(int32(-1)))
		long, hash := strings.Repeat("n", 235+r.IntN(20)), pick(r, "54f4c57dcb", "cffc885d9")
		return []compared{
			same("EqualIgnoreHash", rollout.EqualIgnoreHash(&a, &b), util.EqualIgnoreHash(&a, &b), []any{a, b}),
			same("ComputeHash", rollout.ComputeHash(&a, count), controller.ComputeHash(&a, count), []any{a, count}),
			same("generateReplicaSetName", ourReplicaSetName(long, hash, version), upstreamReplicaSetName(long, hash), long),
		}
	})
}
