package e2e

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// predicted reads a plan.
func predicted(plan *v1alpha1.RolloutPlan) rolled {
	var s sizes
	for _, e := range plan.Events {
		if e.Object.Kind != "ReplicaSet" {
			continue
		}
		switch d := e.Detail.(type) {
		case trace.Found:
			s.found(e.Object.Name, *d.Replicas)
		case trace.Scaled:
			s.scaled(e.Offset, e.Object.Name, d.To)
		}
	}
	out := rolled{sets: s.order, steps: s.steps, verdict: string(plan.Status.Verdict), apps: map[string]pods{},
		took: time.Duration(plan.Status.DurationSeconds * float64(time.Second))}
	for _, w := range plan.Status.Workloads {
		out.apps[w.Object.Name] = pods{peak: w.Pods.Peak, least: w.Available.Least}
	}
	return out
}
