package v1alpha1

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// SweepKind is the kind of a RolloutSweep; its version is that of a RolloutPlan.
const SweepKind = "RolloutSweep"

// RolloutSweep is one change played many times, each time with another seed.
type RolloutSweep struct {
	metav1.TypeMeta `json:",inline"`

	// Spec is what the runs were given.
	Spec RolloutSweepSpec `json:"spec"`
	// Status is what they add up to.
	Status RolloutSweepStatus `json:"status,omitzero"`
	// Runs are the runs in order of their seeds.
	Runs []SweepRun `json:"runs"`
}

// RolloutSweepSpec is the inputs of a sweep. Its seed is that of the first run;
// each further run has the next one.
type RolloutSweepSpec struct {
	RolloutPlanSpec `json:",inline"`
	// Runs is how many runs the whole sweep has.
	Runs int `json:"runs"`
	// Shard is the part of the sweep that this is; nil for the whole.
	Shard *Shard `json:"shard,omitempty"`
	// InputHash tells whether two sweeps had the same manifests, state and change.
	InputHash string `json:"inputHash,omitempty"`
}

// Shard is one of several parts of a sweep.
type Shard struct {
	Index int `json:"index"` // from 0 on
	Count int `json:"count"`
}

// SweepRun is one run. RolloutPlanSpec.Seed with this seed replays it.
type SweepRun struct {
	Seed uint64 `json:"seed"`
	// Workloads are its results, in the order of spec.workloads.
	Workloads []RunResult `json:"workloads"`
}

// RunResult is how one workload fared in one run. The numbers mean what they
// mean in a WorkloadStatus.
type RunResult struct {
	Verdict             Verdict `json:"verdict"`
	DurationSeconds     float64 `json:"durationSeconds"`
	LeastAvailable      int32   `json:"leastAvailable"`
	Needed              int32   `json:"needed"`
	Desired             int32   `json:"desired"`
	Peak                int32   `json:"peak"`
	PeakWithTerminating int32   `json:"peakWithTerminating"`
}

// ResultOf is what a sweep keeps of a workload's status.
func ResultOf(w WorkloadStatus) RunResult {
	return RunResult{
		Verdict: w.Verdict, DurationSeconds: w.DurationSeconds,
		LeastAvailable: w.Available.Least, Needed: w.Available.Needed, Desired: w.Available.Desired,
		Peak: w.Pods.Peak, PeakWithTerminating: w.Pods.PeakWithTerminating,
	}
}

// RolloutSweepStatus is what the runs of a sweep add up to.
type RolloutSweepStatus struct {
	// Verdict is the worst of all runs'.
	Verdict Verdict `json:"verdict"`
	// Verdicts says how many runs ended how, the worst first. The verdict of a
	// run is the worst of its workloads'.
	Verdicts []VerdictShare `json:"verdicts"`
	// DurationSeconds is that of the runs: of the longest of their workloads.
	DurationSeconds Spread `json:"durationSeconds"`
	// Worst is the run to look at: of those with the worst verdict the one with
	// the fewest available pods for those desired, and of these the longest.
	Worst WorstRun `json:"worst"`
	// Workloads has one entry for each of spec.workloads.
	Workloads []SweepWorkload `json:"workloads"`
}

// SweepWorkload is what one workload's runs add up to.
type SweepWorkload struct {
	Object              trace.Ref      `json:"object"`
	Verdict             Verdict        `json:"verdict"`
	Verdicts            []VerdictShare `json:"verdicts"`
	DurationSeconds     Spread         `json:"durationSeconds"`
	LeastAvailable      Spread         `json:"leastAvailable"`
	Peak                Spread         `json:"peak"`
	PeakWithTerminating Spread         `json:"peakWithTerminating"`
	// Needed and Desired are those of the worst run.
	Needed  int32 `json:"needed"`
	Desired int32 `json:"desired"`
	// Worst is this workload's worst run.
	Worst WorstRun `json:"worst"`
}

// VerdictShare is how many runs ended with a verdict.
type VerdictShare struct {
	Verdict Verdict `json:"verdict"`
	Runs    int     `json:"runs"`
	Share   float64 `json:"share"` // of all runs, from 0 to 1
}

// Spread is how a number is spread over the runs. A percentile is the smallest
// value that at least so many percent of the runs do not exceed (nearest rank).
type Spread struct {
	Min float64 `json:"min"`
	P5  float64 `json:"p5"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// WorstRun names a run and says what is bad about it.
type WorstRun struct {
	Seed            uint64  `json:"seed"`
	Verdict         Verdict `json:"verdict"`
	DurationSeconds float64 `json:"durationSeconds"`
}

// NewRolloutSweep is a sweep with its kind set, before anything was run.
func NewRolloutSweep(spec RolloutSweepSpec) *RolloutSweep {
	return &RolloutSweep{TypeMeta: metav1.TypeMeta{APIVersion: PlanAPIVersion, Kind: SweepKind}, Spec: spec, Runs: []SweepRun{}}
}

// DecodeSweep reads a sweep in JSON or YAML. Another kind or version is an
// error, and so are runs that do not fit the workloads.
func DecodeSweep(data []byte) (*RolloutSweep, error) {
	s := &RolloutSweep{}
	if err := json.Unmarshal(data, s); err != nil {
		*s = RolloutSweep{}
		if err := yaml.Unmarshal(data, s); err != nil {
			return nil, fmt.Errorf("reading a %s: %w", SweepKind, err)
		}
	}
	if s.APIVersion != PlanAPIVersion || s.Kind != SweepKind {
		return nil, fmt.Errorf("expected %s %s, found %s %s", PlanAPIVersion, SweepKind, orNothing(s.APIVersion), orNothing(s.Kind))
	}
	for i, run := range s.Runs {
		if len(run.Workloads) != len(s.Spec.Workloads) {
			return nil, fmt.Errorf("runs[%d] has the results of %d workloads, not of the %d in spec.workloads", i, len(run.Workloads), len(s.Spec.Workloads))
		}
	}
	return s, nil
}

// GetObjectKind makes a sweep a runtime.Object, for kubectl's printers.
func (s *RolloutSweep) GetObjectKind() schema.ObjectKind { return &s.TypeMeta }

// DeepCopyObject copies the sweep. What its runs point to is shared, since
// nobody changes it.
func (s *RolloutSweep) DeepCopyObject() runtime.Object {
	out := *s
	out.Status.Verdicts = slices.Clone(s.Status.Verdicts)
	out.Status.Workloads = slices.Clone(s.Status.Workloads)
	out.Runs = slices.Clone(s.Runs)
	return &out
}
