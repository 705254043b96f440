package rollout

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// PlanProportional shares the difference between the pods that may exist
// (desired plus surge, or none when none are desired) and the sizes there are
// among the active ReplicaSets, each in proportion to its size, the largest
// first; what rounding leaves goes to the largest. Every active ReplicaSet gets
// a step, for its annotations. Upstream: the last part of scale.
func PlanProportional(d *appsv1.Deployment, sets Sets, v Version) []Step {
	active := Active(Sets{New: sets.New, Old: ByNewest(sets.Old)}.All())
	allowed := int32(0)
	if Desired(d) > 0 {
		allowed = Desired(d) + MaxSurge(d)
	}
	toAdd := allowed - TotalSize(active)
	if toAdd != 0 {
		active = bySize(active, toAdd > 0)
	}
	steps := make([]Step, len(active))
	left := toAdd
	for i, rs := range active {
		b := share(d, rs, left, v)
		steps[i] = Step{ReplicaSet: rs, To: Size(rs) + b.Result, Refresh: true, Budget: b}
		left -= b.Result
	}
	if toAdd != 0 && len(steps) > 0 {
		addLeftover(&steps[0], left)
	}
	return steps
}

// addLeftover gives the largest ReplicaSet what is left, though not less than 0 pods in all.
func addLeftover(s *Step, leftover int32) {
	if leftover != 0 {
		s.Budget.Terms = append(s.Budget.Terms, trace.Term{Name: "leftover", Value: leftover})
	}
	s.To = max(0, s.To+leftover)
	s.Budget.Result = s.To - Size(s.ReplicaSet)
}

// share is what a ReplicaSet gets of the pods left to hand out (negative: to
// take away), never beyond them. Upstream: GetReplicaSetProportion.
func share(d *appsv1.Deployment, rs *appsv1.ReplicaSet, left int32, v Version) Budget {
	b := fraction(d, rs, v)
	switch {
	case left == 0:
		b.Result = 0
	case left > 0 && b.Result > left, left < 0 && b.Result < left:
		b.Terms = append(b.Terms, trace.Term{Name: "left", Value: left})
		b.Result = left
	}
	return b
}

// fraction is how much a ReplicaSet should change to stay the same part of the
// Deployment. Base is what the Deployment might have at most when the ReplicaSet
// was last sized or, where that is not known, what it reports to have now.
// Upstream: getReplicaSetFraction.
func fraction(d *appsv1.Deployment, rs *appsv1.ReplicaSet, v Version) Budget {
	size := Size(rs)
	b := Budget{Rule: trace.Proportion, Terms: []trace.Term{{Name: "size", Value: size}}}
	if Desired(d) == 0 {
		b.Result = -size
		return b
	}
	most := Desired(d) + MaxSurge(d)
	base, ok := replicasAnnotation(rs, MaxReplicasAnnotation, v)
	if !ok || (base == 0 && v.StrictReplicaAnnotations()) {
		base = d.Status.Replicas
	}
	b.Terms = append(b.Terms, trace.Term{Name: "max", Value: most}, trace.Term{Name: "base", Value: base})
	if base == 0 && v.StrictReplicaAnnotations() {
		return b
	}
	// The product overflows as an int32 does, upstream too.
	b.Result = roundToInt32(float64(size*most)/float64(base)) - size
	return b
}

// roundToInt32 rounds half away from zero. What does not fit is the smallest
// int32, as upstream's conversion gives on amd64: releases that divide by a base
// of 0 get there.
func roundToInt32(f float64) int32 {
	f = math.Round(f)
	if math.IsNaN(f) || f < math.MinInt32 || f > math.MaxInt32 {
		return math.MinInt32
	}
	return int32(f)
}
