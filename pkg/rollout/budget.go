package rollout

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Budget is the answer of one rule with its operands. Terms are signed and add
// up to Result, except where a limiting term (marked "limit" below) is smaller
// than the sum of the others: then the Result is that limit.
//
//	rule           terms                                               Result
//	Room           desired, surge, -pods; limit desiredLeft            pods the new ReplicaSet may gain; 0 when the sum is negative
//	Surplus        pods, -needed, -notReady                            old pods that may go
//	Unhealthy      size, -available; limit left                        pods this old ReplicaSet loses, none of them available
//	Available      available, -needed, -taken; limit size              pods this old ReplicaSet loses; without taken: all of them
//	Proportion     not a sum: size, max, base, limit left, leftover    change of this ReplicaSet, leftover included
//	Desired        desired                                             size the ReplicaSet gets
//	Saturated      available, -desired                                 size an old ReplicaSet gets: 0
//	Recreate       size                                                pods this old ReplicaSet loses
//	OldPodsRunning pods or running                                     old pods in ReplicaSet statuses, else those not yet ended
//	Wedged         annotated, -desired                                 how far the desired-replicas annotation is off
//	Paused         desired, -updated                                   pods not yet of the new template; desired alone when there is no new ReplicaSet
//	History        sets, -limit                                        old ReplicaSets beyond the limit
//
// In Proportion the share is round(size*max/base)-size: max is desired plus
// surge now, base the same when the ReplicaSet was last sized, left what remains
// to hand out, leftover what rounding left for the largest. Scaling to 0 has
// the term size alone.
type Budget struct {
	Rule   trace.Rule
	Terms  []trace.Term
	Result int32
}

// Budgeted is the budget as a decision to act.
func (b Budget) Budgeted() trace.Budgeted {
	return trace.Budgeted{Rule: b.Rule, Terms: b.Terms, Result: b.Result}
}

// Held is the budget as a decision to do nothing.
func (b Budget) Held() trace.Held {
	return trace.Held{Why: b.Rule, Terms: b.Terms, Result: b.Result}
}

// sum is a budget whose result is the sum of its terms.
func sum(rule trace.Rule, terms ...trace.Term) Budget {
	b := Budget{Rule: rule, Terms: terms}
	for _, t := range terms {
		b.Result += t.Value
	}
	return b
}

// limited is the budget with a limit on its result, noted only where it bites.
func (b Budget) limited(name string, limit int32) Budget {
	if b.Result <= limit {
		return b
	}
	b.Terms = append(b.Terms[:len(b.Terms):len(b.Terms)], trace.Term{Name: name, Value: limit})
	b.Result = limit
	return b
}

// Desired is spec.replicas; a Deployment that never passed the API server's
// defaults has 1.
func Desired(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// IsRollingUpdate says whether the strategy is RollingUpdate.
func IsRollingUpdate(d *appsv1.Deployment) bool {
	return d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType
}

// Fenceposts resolves maxSurge (percentages round up) and maxUnavailable (down)
// into pods. Should both be 0, unavailable is 1, since otherwise nothing could
// ever move. A string that is no percentage is an error. Upstream: ResolveFenceposts.
func Fenceposts(maxSurge, maxUnavailable *intstr.IntOrString, desired int32) (surge, unavailable int32, err error) {
	zero := intstr.FromInt32(0)
	s, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(maxSurge, zero), int(desired), true)
	if err != nil {
		return 0, 0, err
	}
	u, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(maxUnavailable, zero), int(desired), false)
	if err != nil {
		return 0, 0, err
	}
	if s == 0 && u == 0 {
		u = 1
	}
	return int32(s), int32(u), nil
}

// fenceposts is Fenceposts of a Deployment; limits that validation would refuse count as 0.
func fenceposts(d *appsv1.Deployment) (surge, unavailable int32) {
	rolling := rollingUpdate(d)
	surge, unavailable, _ = Fenceposts(rolling.MaxSurge, rolling.MaxUnavailable, Desired(d))
	return surge, unavailable
}

func rollingUpdate(d *appsv1.Deployment) appsv1.RollingUpdateDeployment {
	if d.Spec.Strategy.RollingUpdate == nil {
		return appsv1.RollingUpdateDeployment{}
	}
	return *d.Spec.Strategy.RollingUpdate
}

// MaxUnavailable is how many of the desired pods may be missing during a
// rolling update; 0 for Recreate and for no desired pods.
func MaxUnavailable(d *appsv1.Deployment) int32 {
	if !IsRollingUpdate(d) || Desired(d) == 0 {
		return 0
	}
	_, unavailable := fenceposts(d)
	return min(unavailable, Desired(d))
}

// MinAvailable is how many pods must stay available during a rolling update; 0 for Recreate.
func MinAvailable(d *appsv1.Deployment) int32 {
	if !IsRollingUpdate(d) {
		return 0
	}
	return Desired(d) - MaxUnavailable(d)
}

// MaxSurge is how many pods beyond the desired may exist during a rolling
// update; 0 for Recreate.
func MaxSurge(d *appsv1.Deployment) int32 {
	if !IsRollingUpdate(d) {
		return 0
	}
	surge, _ := fenceposts(d)
	return surge
}

// NewReplicaSetSize is the size the new ReplicaSet should have, being made or
// growing, and the budget behind it; all are the ReplicaSets of the Deployment
// with or without a new one of size 0. Unlike MaxSurge it takes maxSurge raw.
// A strategy or maxSurge that validation would refuse is an error.
// Upstream: NewRSNewReplicas.
func NewReplicaSetSize(d *appsv1.Deployment, all []*appsv1.ReplicaSet, newSet *appsv1.ReplicaSet) (int32, Budget, error) {
	switch d.Spec.Strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		b := desiredBudget(d)
		return b.Result, b, nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		surge, err := intstr.GetScaledValueFromIntOrPercent(rollingUpdate(d).MaxSurge, int(Desired(d)), true)
		if err != nil {
			return 0, Budget{}, err
		}
		room := sum(trace.Room,
			trace.Term{Name: "desired", Value: Desired(d)},
			trace.Term{Name: "surge", Value: int32(surge)},
			trace.Term{Name: "pods", Value: -TotalSize(all)})
		// Compared before they are subtracted: huge sizes overflow, upstream too.
		if TotalSize(all) >= Desired(d)+int32(surge) {
			room.Result = 0
			return Size(newSet), room, nil
		}
		room = room.limited("desiredLeft", Desired(d)-Size(newSet))
		return Size(newSet) + room.Result, room, nil
	default:
		return 0, Budget{}, fmt.Errorf("deployment type %v isn't supported", d.Spec.Strategy.Type)
	}
}

func desiredBudget(d *appsv1.Deployment) Budget {
	return sum(trace.Desired, trace.Term{Name: "desired", Value: Desired(d)})
}
