package v1alpha1

import "github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"

// Divergence is where a rollout first left its plan: by a step that was not
// planned, a planned step that was not taken, or another end.
type Divergence struct {
	OffsetSeconds float64 `json:"offsetSeconds"`
	// Object is the ReplicaSet of the step; the workload where it is about the end.
	Object trace.Ref `json:"object"`
	// Message says what was planned and what happened.
	Message string `json:"message"`
}
