package live

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// outlook is a Deployment and its ReplicaSets at a moment.
type outlook struct {
	deployment *appsv1.Deployment
	owned      []*appsv1.ReplicaSet
}

// outlooks are how many moments are remembered. A controller acts on its own
// cache, which lags, and takes several steps from one look at it.
const outlooks = 24

// choice is a step that the controllers' logic takes, with all of its arithmetic.
type choice struct {
	set     string // name of the ReplicaSet
	to      int32
	budgets []rollout.Budget // the last is the rule of the step itself
}

// choices are the steps that a pass might take on what is there: those of the
// first reconciliation that has any, and those of the ones after it, since what
// is observed is what the controller knew only more or less.
func (o outlook) choices(v rollout.Version) []choice {
	d := o.deployment
	if d == nil || d.DeletionTimestamp != nil || d.Spec.Replicas == nil {
		return nil
	}
	sets := rollout.Split(d, o.owned)
	switch {
	case d.Spec.Paused, rollout.IsScalingEvent(d, sets, v):
		return chosen(rollout.PlanScaling(d, sets, v).Steps)
	case sets.New == nil && rollout.IsRollingUpdate(d):
		return made(d, sets, v)
	case sets.New == nil:
		return append(made(d, sets, v), chosen(rollout.PlanRecreate(rollout.Active(sets.Old)))...)
	}
	return append(growing(d, sets), shrinking(d, sets)...)
}

func chosen(steps []rollout.Step, before ...rollout.Budget) []choice {
	var out []choice
	for _, s := range steps {
		if s.ReplicaSet == nil || rollout.Size(s.ReplicaSet) == s.To {
			continue
		}
		out = append(out, choice{s.ReplicaSet.Name, s.To, append(before[:len(before):len(before)], s.Budget)})
	}
	return out
}

func made(d *appsv1.Deployment, sets rollout.Sets, v rollout.Version) []choice {
	wanted, budget, err := rollout.NewReplicaSet(d, sets.Old, rollout.NextRevision(sets.Old), v)
	if err != nil {
		return nil
	}
	return []choice{{wanted.Name, rollout.Size(wanted), []rollout.Budget{budget}}}
}

// growing sizes the new ReplicaSet. (reconcileNewReplicaSet)
func growing(d *appsv1.Deployment, sets rollout.Sets) []choice {
	if !rollout.IsRollingUpdate(d) || rollout.Size(sets.New) > rollout.Desired(d) {
		return chosen([]rollout.Step{rollout.FollowDesired(d, sets.New)})
	}
	to, budget, err := rollout.NewReplicaSetSize(d, sets.All(), sets.New)
	if err != nil {
		return nil
	}
	return chosen([]rollout.Step{{ReplicaSet: sets.New, To: to, Budget: budget}})
}

// shrinking sizes the old ones. (reconcileOldReplicaSets, rolloutRecreate)
func shrinking(d *appsv1.Deployment, sets rollout.Sets) []choice {
	old := rollout.Active(sets.Old)
	if !rollout.IsRollingUpdate(d) {
		return chosen(rollout.PlanRecreate(old))
	}
	surplus := rollout.Surplus(d, sets)
	if len(old) == 0 || surplus.Result <= 0 {
		return nil
	}
	unhealthy, impossible := rollout.PlanUnhealthy(old, surplus.Result)
	out := chosen(unhealthy, surplus)
	if impossible != nil {
		return out
	}
	after := shrunk(old, unhealthy)
	return append(out, chosen(rollout.PlanAvailable(after, rollout.Spare(d, sets.New, after)), surplus)...)
}

// shrunk are ReplicaSets with their sizes after some steps.
func shrunk(sets []*appsv1.ReplicaSet, steps []rollout.Step) []*appsv1.ReplicaSet {
	out := rollout.ByCreation(sets)
	for i, rs := range out {
		for _, s := range steps {
			if s.ReplicaSet == rs {
				sized := *rs
				sized.Spec.Replicas = &s.To
				out[i] = &sized
			}
		}
	}
	return out
}

// explanation finds the arithmetic that gives a step on what was observed, the
// latest moment first. Without one, the step is not what our logic does; the
// answer then has the size that it gives, where it gives one.
func explanation(moments []outlook, v rollout.Version, set string, to int32) (budgets []rollout.Budget, explained bool) {
	var instead []rollout.Budget
	for i := len(moments) - 1; i >= 0; i-- {
		for _, c := range moments[i].choices(v) {
			switch {
			case c.set == set && c.to == to:
				return c.budgets, true
			case c.set == set && instead == nil:
				instead = []rollout.Budget{unexplained(to, trace.Term{Name: "expected", Value: c.to})}
			}
		}
	}
	if instead == nil {
		instead = []rollout.Budget{unexplained(to)}
	}
	return instead, false
}

func unexplained(to int32, terms ...trace.Term) rollout.Budget {
	return rollout.Budget{Rule: trace.Unexplained, Terms: terms, Result: to}
}
