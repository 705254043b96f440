package v1alpha1

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ComparisonKind is the kind of a RolloutComparison; its version is that of a RolloutPlan.
const ComparisonKind = "RolloutComparison"

// RolloutComparison is one change under several strategies.
type RolloutComparison struct {
	metav1.TypeMeta `json:",inline"`

	// Spec is what was asked.
	Spec RolloutComparisonSpec `json:"spec"`
	// Status is what came of it.
	Status RolloutComparisonStatus `json:"status"`
}

// RolloutComparisonSpec is the inputs of a comparison.
type RolloutComparisonSpec struct {
	RolloutPlanSpec `json:",inline"`
	// Goal is what the strategy was to be chosen by, as it was written.
	Goal string `json:"goal,omitempty"`
}

// RolloutComparisonStatus is the results.
type RolloutComparisonStatus struct {
	// Strategies has the strategy that the Deployment has anyway, and then the
	// others in the order of the question.
	Strategies []StrategyResult `json:"strategies"`
	// Chosen is the index of the strategy that meets the goal best; nil when
	// there is no goal, or none that meets it.
	Chosen *int `json:"chosen,omitempty"`
	// Patch makes the Deployment have that strategy (strategic merge).
	Patch json.RawMessage `json:"patch,omitempty"`
}

// Strategy is how a Deployment replaces its pods.
type Strategy struct {
	Type            string `json:"type"`                     // RollingUpdate, Recreate
	MaxSurge        string `json:"maxSurge,omitempty"`       // as written: 25%, 3
	MaxUnavailable  string `json:"maxUnavailable,omitempty"` // as written
	MinReadySeconds int32  `json:"minReadySeconds"`
}

// StrategyResult is how the change went under one strategy.
type StrategyResult struct {
	Strategy Strategy `json:"strategy"`
	// Current is the strategy that the Deployment has after the change anyway.
	Current         bool         `json:"current,omitempty"`
	Verdict         Verdict      `json:"verdict"`
	DurationSeconds float64      `json:"durationSeconds"`
	Available       Availability `json:"available"`
	Pods            PodTotals    `json:"pods"`
	// PeakRequests is the most CPU and memory that the Deployment's pods asked
	// for at once, those terminating included.
	PeakRequests Requests `json:"peakRequests"`
	// Pareto says that it completes and that no other that does is at least as
	// good in duration, least available and peak pods, and better in one of them.
	Pareto bool `json:"pareto,omitempty"`
	// MeetsGoal says whether it completes and meets the goal's bounds; nil
	// without a goal.
	MeetsGoal *bool `json:"meetsGoal,omitempty"`
}

// Requests are amounts of resources.
type Requests struct {
	MilliCPU    int64 `json:"milliCPU"`
	MemoryBytes int64 `json:"memoryBytes"`
}

// NewRolloutComparison is a comparison with its kind set, before anything was run.
func NewRolloutComparison(spec RolloutComparisonSpec) *RolloutComparison {
	return &RolloutComparison{TypeMeta: metav1.TypeMeta{APIVersion: PlanAPIVersion, Kind: ComparisonKind}, Spec: spec}
}

// GetObjectKind makes a comparison a runtime.Object, for kubectl's printers.
func (c *RolloutComparison) GetObjectKind() schema.ObjectKind { return &c.TypeMeta }

// DeepCopyObject copies the comparison; what its results point to is shared,
// since nobody changes it.
func (c *RolloutComparison) DeepCopyObject() runtime.Object {
	out := *c
	out.Status.Strategies = slices.Clone(c.Status.Strategies)
	return &out
}
