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

func deploymentCondition(c *appsv1.DeploymentCondition) trace.ConditionChanged {
	return trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message}
}

func replicaSetCondition(c *appsv1.ReplicaSetCondition) trace.ConditionChanged {
	return trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message}
}

// conditions emits each condition that is new or different, and each that went;
// read sees one of a kind's own as the trace does.
func conditions[T any](is, was []T, read func(*T) trace.ConditionChanged, emit Emit) {
	find := func(list []T, kind string) (trace.ConditionChanged, bool) {
		for i := range list {
			if c := read(&list[i]); c.Condition == kind {
				return c, true
			}
		}
		return trace.ConditionChanged{}, false
	}
	for i := range is {
		c := read(&is[i])
		if old, had := find(was, c.Condition); !had || old != c {
			emit(c)
		}
	}
	for i := range was {
		kind := read(&was[i]).Condition
		if _, has := find(is, kind); !has {
			emit(trace.ConditionChanged{Condition: kind})
		}
	}
}
