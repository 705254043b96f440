package derive

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func deploymentCounts(d *appsv1.Deployment) trace.StatusChanged {
	s := d.Status
	return trace.StatusChanged{
		ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas, Updated: s.UpdatedReplicas, Ready: s.ReadyReplicas,
		Available: s.AvailableReplicas, Unavailable: s.UnavailableReplicas, Terminating: s.TerminatingReplicas,
	}
}

func replicaSetCounts(rs *appsv1.ReplicaSet) trace.StatusChanged {
	s := rs.Status
	return trace.StatusChanged{
		ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas, Ready: s.ReadyReplicas,
		Available: s.AvailableReplicas, Terminating: s.TerminatingReplicas,
	}
}

func sameStatus(a, b trace.StatusChanged) bool {
	at, bt := a.Terminating, b.Terminating
	a.Terminating, b.Terminating = nil, nil
	return a == b && (at == nil) == (bt == nil) && (at == nil || *at == *bt)
}

func deploymentConditions(d *appsv1.Deployment) []trace.ConditionChanged {
	var out []trace.ConditionChanged
	for _, c := range d.Status.Conditions {
		out = append(out, trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return out
}

func replicaSetConditions(rs *appsv1.ReplicaSet) []trace.ConditionChanged {
	var out []trace.ConditionChanged
	for _, c := range rs.Status.Conditions {
		out = append(out, trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return out
}

// conditions emits each condition that is new or different, and each that went.
func conditions(is, was []trace.ConditionChanged, emit Emit) {
	find := func(list []trace.ConditionChanged, kind string) *trace.ConditionChanged {
		for i := range list {
			if list[i].Condition == kind {
				return &list[i]
			}
		}
		return nil
	}
	for _, c := range is {
		if old := find(was, c.Condition); old == nil || *old != c {
			emit(c)
		}
	}
	for _, c := range was {
		if find(is, c.Condition) == nil {
			emit(trace.ConditionChanged{Condition: c.Condition})
		}
	}
}
