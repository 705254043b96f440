package predict

import (
	"fmt"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// holdLoads keeps the loads that autoscalers have observed, where no Scenario
// says otherwise, and tells of those that nothing is known about.
func (r *run) holdLoads() {
	held, blind := r.world.HoldLoads()
	for _, load := range held {
		r.scene.facts = append(r.scene.facts, fmt.Sprintf("load of %s held at %s %s", refName(load.Target), load.Total.String(), load.Metric))
	}
	for _, hpa := range blind {
		lowest := int32(1)
		if hpa.Spec.MinReplicas != nil {
			lowest = *hpa.Spec.MinReplicas
		}
		r.warnings = append(r.warnings, fmt.Sprintf("horizontalpodautoscaler/%s: nothing tells its load, so that it only keeps the replicas between %d and %d: a Scenario's loads can tell it",
			manifest.Printable(hpa.Name), lowest, hpa.Spec.MaxReplicas))
	}
}
