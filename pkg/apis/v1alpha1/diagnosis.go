package v1alpha1

import (
	"slices"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Diagnosis is what holds a workload that does not complete, or that waits
// long: found by playing the same change again, with the same seed, in worlds
// that have one constraint less.
type Diagnosis struct {
	// Wait is the longest wait of a workload that completed in the end; without
	// it the workload did not.
	Wait *Wait `json:"wait,omitempty"`
	// Constraints hold the workload together: it takes all of them. Relaxing any
	// one that is listed alone in a remedy lets it complete. None means that
	// nothing that was tried helps.
	Constraints []Constraint `json:"constraints"`
	// Remedies are what lets it complete, each with its cost. One is enough.
	Remedies []Remedy `json:"remedies"`
	// Runs is how often the change was played again.
	Runs int `json:"runs"`
	// Omitted says why nothing, or not everything, was tried.
	Omitted string `json:"omitted,omitempty"`
}

// Wait is a stretch of time without progress.
type Wait struct {
	FromSeconds float64 `json:"fromSeconds"`
	ToSeconds   float64 `json:"toSeconds"`
	// Reasons say what was waited for, in the middle of it.
	Reasons []Reason `json:"reasons"`
}

// ConstraintType is what can hold a rollout, one of a closed set of words.
type ConstraintType string

// The constraints.
const (
	ConstraintQuota        ConstraintType = "Quota"          // a ResourceQuota's limit
	ConstraintRefusal      ConstraintType = "Refusal"        // requests that a scenario's faults refuse
	ConstraintCapacity     ConstraintType = "Capacity"       // as many nodes as there are
	ConstraintCordon       ConstraintType = "Cordon"         // nodes that take no pods
	ConstraintTaint        ConstraintType = "Taint"          // a taint that the pods do not tolerate
	ConstraintAntiAffinity ConstraintType = "AntiAffinity"   // required pod anti-affinity
	ConstraintAffinity     ConstraintType = "Affinity"       // required pod affinity
	ConstraintNodeAffinity ConstraintType = "NodeAffinity"   // node selector and required node affinity
	ConstraintSpread       ConstraintType = "TopologySpread" // a topology spread that must not be broken
	ConstraintPorts        ConstraintType = "HostPort"       // ports of the node
	ConstraintVolume       ConstraintType = "Volume"         // a volume that is elsewhere, or another node's
	ConstraintUnavailable  ConstraintType = "MaxUnavailable" // how many pods may be unavailable
	ConstraintSurge        ConstraintType = "MaxSurge"       // how many pods there may be beyond replicas
	ConstraintImage        ConstraintType = "Image"          // an image that cannot be pulled
	ConstraintCrash        ConstraintType = "Crash"          // containers that exit
	ConstraintProbe        ConstraintType = "Probe"          // the delays of probes
	ConstraintReadiness    ConstraintType = "Readiness"      // pods that do not become ready
	ConstraintMinReady     ConstraintType = "MinReady"       // minReadySeconds
	ConstraintToleration   ConstraintType = "Toleration"     // how long pods stay bound to a node that is lost
	ConstraintDeadline     ConstraintType = "Deadline"       // progressDeadlineSeconds
)

// Constraint is one thing that holds a workload.
type Constraint struct {
	Type ConstraintType `json:"type"`
	// Message says it in words, with its numbers.
	Message string `json:"message"`
	// Object is what it belongs to: a quota, a node, or the workload.
	Object trace.Ref `json:"object"`
}

// Remedy is a change of the world with which the workload completes, and what
// the rollout then costs.
type Remedy struct {
	// Types are the constraints that it relaxes: one, or two that it takes both.
	Types []ConstraintType `json:"types"`
	// Changes say what to do, one entry for each type.
	Changes []string `json:"changes"`
	// DurationSeconds, PeakPods, LeastAvailable and LongestWaitForProgressSeconds
	// are those of the workload with the remedy.
	DurationSeconds               float64 `json:"durationSeconds"`
	PeakPods                      int32   `json:"peakPods"`
	LeastAvailable                int32   `json:"leastAvailable"`
	LongestWaitForProgressSeconds float64 `json:"longestWaitForProgressSeconds"`
}

// Better says that the remedies say more than what a reason itself has to offer:
// what keeps pods from being made or placed is in their numbers, while what is
// wrong with a container is only named.
func (d *Diagnosis) Better(r Reason) bool {
	return d != nil && len(d.Remedies) > 0 && (r.Remedy == "" || r.Type == "FailedCreate" || r.Type == "Unschedulable")
}

// DeepCopy copies a diagnosis; nil of nil.
func (d *Diagnosis) DeepCopy() *Diagnosis {
	if d == nil {
		return nil
	}
	out := *d
	if d.Wait != nil {
		wait := *d.Wait
		wait.Reasons = slices.Clone(wait.Reasons)
		out.Wait = &wait
	}
	out.Constraints, out.Remedies = slices.Clone(d.Constraints), slices.Clone(d.Remedies)
	for i := range out.Remedies {
		r := &out.Remedies[i]
		r.Types, r.Changes = slices.Clone(r.Types), slices.Clone(r.Changes)
	}
	return &out
}
