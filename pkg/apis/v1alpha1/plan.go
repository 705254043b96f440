// Package v1alpha1 is the kinds that people write and read: RolloutPlan, what a
// run showed, and Scenario, what a run is to meet.
package v1alpha1

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// PlanAPIVersion and PlanKind identify a RolloutPlan.
const (
	PlanAPIVersion = "rollout-sim.dev/v1alpha1"
	PlanKind       = "RolloutPlan"
)

// RolloutPlan is what a run showed: the question, the answer and everything
// that happened, in order. It is what -o json and -o yaml print; scripts rely on it.
// A field that is left out has its zero value.
type RolloutPlan struct {
	metav1.TypeMeta `json:",inline"`

	// Spec is what the run was given.
	Spec RolloutPlanSpec `json:"spec"`
	// Status is what came of it. The header line of JSON lines, written before
	// anything has happened, is without.
	Status RolloutPlanStatus `json:"status,omitzero"`
	// Events are everything that happened, in order, with their causes. A
	// consumer must ignore fields of an event that it does not know.
	Events []trace.Event `json:"events,omitempty"`
}

// PlanSource says where the world of a run came from.
type PlanSource string

// The sources.
const (
	SourceOffline PlanSource = "Offline" // the manifests and an assumed world
	SourceDump    PlanSource = "Dump"    // lists saved from a cluster
	SourceCluster PlanSource = "Cluster" // a live cluster
)

// RolloutPlanSpec is the inputs of a run.
type RolloutPlanSpec struct {
	// Seed of everything that chance decides. Equal inputs and seed give an equal plan.
	Seed uint64 `json:"seed"`
	// KubernetesVersion is the release whose controllers were followed, as v1.37.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Source says where the world came from.
	Source PlanSource `json:"source,omitempty"`
	// Timing is cluster (latencies and client limits of a real control plane)
	// or instant (calls and watches take no time).
	Timing string `json:"timing,omitempty"`
	// Context is the kubeconfig context of a live cluster.
	Context string `json:"context,omitempty"`
	// LimitSeconds is how far the run was followed at most.
	LimitSeconds float64 `json:"limitSeconds,omitempty"`
	// StartTime is the moment offsets count from. Availability counts whole
	// seconds of this clock; without it the run began on a whole second.
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`
	// Workloads are the Deployments and ReplicaSets that were asked about, in
	// input order. None means all that the events specify.
	Workloads []trace.Ref `json:"workloads,omitempty"`
	// World says in words what was assumed or measured, one fact each.
	World []string `json:"world,omitempty"`
	// Request is the change itself, in a plan that was saved to be applied.
	Request *Request `json:"request,omitempty"`
	// Predicted is what a plan had said, in the recording of a real rollout.
	Predicted *Predicted `json:"predicted,omitempty"`
}

// Verdict is how it ended, one of a closed set of words.
type Verdict string

// The verdicts, from best to worst.
const (
	// NothingToDo: no rollout starts, and no pod is made or deleted.
	NothingToDo Verdict = "NothingToDo"
	// Complete: all pods are of the wanted template, as many as wanted, and available.
	Complete Verdict = "Complete"
	// Paused: the Deployment is paused, so that its template is not rolled out.
	Paused Verdict = "Paused"
	// LimitReached: the run was not followed further, and was still moving or waiting for a timer.
	LimitReached Verdict = "LimitReached"
	// Stuck: nothing will move any more unless somebody acts.
	Stuck Verdict = "Stuck"
	// DeadlineExceeded: there was no progress for progressDeadlineSeconds.
	DeadlineExceeded Verdict = "DeadlineExceeded"
)

var verdictOrder = []Verdict{NothingToDo, Complete, Paused, LimitReached, Stuck, DeadlineExceeded}

// WorseThan compares two verdicts. A word outside the set is the worst.
func (v Verdict) WorseThan(other Verdict) bool { return v.rank() > other.rank() }

func (v Verdict) rank() int {
	if i := slices.Index(verdictOrder, v); i >= 0 {
		return i
	}
	return len(verdictOrder)
}

// RolloutPlanStatus is the result of a run.
type RolloutPlanStatus struct {
	// Verdict is the worst of the workloads'.
	Verdict Verdict `json:"verdict"`
	// DurationSeconds is the longest of the workloads'.
	DurationSeconds float64 `json:"durationSeconds"`
	// Workloads has one entry each, in input order, and then one for each other
	// workload that the run touched.
	Workloads []WorkloadStatus `json:"workloads"`
	// Total is what the workloads come to together.
	Total Total `json:"total"`
	// Divergence is where a real rollout first left the plan that it was
	// compared with.
	Divergence *Divergence `json:"divergence,omitempty"`
}

// WorkloadStatus is the result for one Deployment or bare ReplicaSet.
type WorkloadStatus struct {
	// Object is the Deployment or ReplicaSet.
	Object trace.Ref `json:"object"`
	// Other says that the plan is not about it: it is told of since the run touched it.
	Other bool `json:"other,omitempty"`
	// Changes are the fields that people changed, in order.
	Changes []trace.Field `json:"changes"`
	// Verdict is how it ended.
	Verdict Verdict `json:"verdict"`
	// Reasons say why, for every verdict but Complete: as few as explain it.
	Reasons []Reason `json:"reasons"`
	// DurationSeconds runs from the start of the run until the workload was
	// complete or else until the last thing that moved it; with
	// DeadlineExceeded, until the deadline was declared missed.
	DurationSeconds float64 `json:"durationSeconds"`
	// Pods counts pods over the whole run.
	Pods PodTotals `json:"pods"`
	// Available is about available pods: ready for minReadySeconds, not terminating.
	Available Availability `json:"available"`
	// LongestWaitForProgressSeconds is the longest stretch, up to completion or
	// the end of the run, in which no pod was made of the new template, none of
	// an old one went, and none became ready or available. It is what
	// progressDeadlineSeconds limits.
	LongestWaitForProgressSeconds float64 `json:"longestWaitForProgressSeconds"`
	// DeadlineMissedSeconds is when the progress deadline was declared missed,
	// whether or not the rollout completed later.
	DeadlineMissedSeconds []float64 `json:"deadlineMissedSeconds,omitempty"`
	// Diagnosis is what holds it, for workloads that do not complete or wait
	// long, where that was looked into.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`
}

// Total is all workloads of a run as if they were one.
type Total struct {
	// Workloads is how many there are, those included that the plan is not about.
	Workloads int32 `json:"workloads"`
	// Verdicts is how many of them ended in each way.
	Verdicts map[Verdict]int32 `json:"verdicts"`
	// Pods counts the pods of all of them: its peaks are of one moment.
	Pods PodTotals `json:"pods"`
}

// PodTotals counts pods over a run.
type PodTotals struct {
	// Created is how many pods the ReplicaSets made.
	Created int32 `json:"created"`
	// Deleted is how many pods were deleted, by whomever.
	Deleted int32 `json:"deleted"`
	// Peak is the most pods at once that were neither terminating nor ended.
	Peak int32 `json:"peak"`
	// PeakWithTerminating is the most pods at once, those terminating included.
	PeakWithTerminating int32 `json:"peakWithTerminating"`
	// PeakWithTerminatingSeconds is when that was first reached.
	PeakWithTerminatingSeconds float64 `json:"peakWithTerminatingSeconds"`
}

// Availability is how many pods were available over a run.
type Availability struct {
	// Least is the fewest available pods at any moment.
	Least int32 `json:"least"`
	// LeastSeconds is when that was first so.
	LeastSeconds float64 `json:"leastSeconds"`
	// Needed is how many must stay available by the strategy, at the end of the run.
	Needed int32 `json:"needed"`
	// Desired is spec.replicas at the end of the run.
	Desired int32 `json:"desired"`
	// BelowNeededSeconds is how long fewer were available than needed at that time.
	BelowNeededSeconds float64 `json:"belowNeededSeconds"`
}

// Reason is one reason for a verdict.
type Reason struct {
	// Type is a word for scripts: Unschedulable, FailedCreate, NotReady, NodeLost,
	// Paused, MetadataOnly, or a container's own, such as ImagePullBackOff.
	Type string `json:"type"`
	// Message says it in words, with the world's own message where there is one.
	Message string `json:"message"`
	// Object is what the reason is about: a pod, a ReplicaSet or the workload.
	Object trace.Ref `json:"object"`
	// Remedy is what would mend it; empty when neither the trace nor a diagnosis shows it.
	Remedy string `json:"remedy,omitempty"`
	// TriedSeconds is when requests were refused for this reason: each attempt.
	TriedSeconds []float64 `json:"triedSeconds,omitempty"`
}

// NewRolloutPlan is a plan with its kind set, before anything has happened.
func NewRolloutPlan(spec RolloutPlanSpec) *RolloutPlan {
	return &RolloutPlan{TypeMeta: metav1.TypeMeta{APIVersion: PlanAPIVersion, Kind: PlanKind}, Spec: spec}
}

// Started is the start time of the run; zero when it is not known.
func (s *RolloutPlanSpec) Started() time.Time {
	if s.StartTime == nil {
		return time.Time{}
	}
	return s.StartTime.Time
}

// GetObjectKind makes a plan a runtime.Object, for kubectl's printers.
func (p *RolloutPlan) GetObjectKind() schema.ObjectKind { return &p.TypeMeta }

// DeepCopyObject copies the plan. Events are facts that nobody changes, so that
// the copy shares what they point to.
func (p *RolloutPlan) DeepCopyObject() runtime.Object {
	out := *p
	if p.Spec.StartTime != nil {
		out.Spec.StartTime = p.Spec.StartTime.DeepCopy()
	}
	out.Spec.Workloads = slices.Clone(p.Spec.Workloads)
	out.Spec.World = slices.Clone(p.Spec.World)
	out.Status.Workloads = slices.Clone(p.Status.Workloads)
	for i := range out.Status.Workloads {
		w := &out.Status.Workloads[i]
		w.Changes, w.Reasons = slices.Clone(w.Changes), slices.Clone(w.Reasons)
		w.DeadlineMissedSeconds, w.Diagnosis = slices.Clone(w.DeadlineMissedSeconds), w.Diagnosis.DeepCopy()
	}
	out.Events = slices.Clone(p.Events)
	return &out
}
