package view

import "github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"

// Kind is what JSON, YAML and Object show.
type Kind interface {
	*v1alpha1.RolloutPlan | *v1alpha1.RolloutSweep | *v1alpha1.RolloutComparison | *v1alpha1.Explanation
}
