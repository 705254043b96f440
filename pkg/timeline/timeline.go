// Package timeline folds the events of a run into what they add up to: how many
// pods there were at any moment, in which states, what was created and deleted,
// how it ended and why. It computes and words the reasons; it prints nothing.
package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Timeline is a run, folded.
type Timeline struct {
	// Workloads are the Deployments and bare ReplicaSets in input order.
	Workloads []*Workload
	// Events are the events it was made of, in order.
	Events []trace.Event
	// Index finds them by number and walks their causes.
	Index *trace.Index
	// End is the time of the last event.
	End time.Duration
	// Ended is the word of trace.Ended; empty when the trace was cut short.
	Ended string

	homes  []*Workload // of the events
	echoes map[trace.Seq]bool
	lost   map[string]time.Duration // nodes, since when
}

// Workload is one Deployment or bare ReplicaSet over the run.
type Workload struct {
	Object trace.Ref
	Specs  []Spec
	Sets   []*Set // in the order in which they came up
	Pods   []*Pod // in the order in which they came up, those long gone included
	// Points are the counts whenever they changed, the first being the start.
	Points []Point
	// Changes are what people changed on it, in order.
	Changes []Change
	// Conditions are its conditions as last published, by type.
	Conditions map[string]Condition
	// Gone says that the workload itself was deleted.
	Gone bool
	// Other says that the run is not about it, but touched it.
	Other bool
	// Missed is when its progress deadline was declared missed.
	Missed []time.Duration

	newSet   string // name of the ReplicaSet that has the current template
	counts   Counts
	touched  bool // a ReplicaSet was made or sized, or a pod made or deleted
	statuses []status
	refused  []refusal
	held     []held
}

// Spec is a workload's spec from a time on.
type Spec struct {
	At  time.Duration
	Seq trace.Seq
	trace.Specified
}

// Change is a person's change.
type Change struct {
	At  time.Duration
	Seq trace.Seq
	trace.Changed
}

// Condition is a condition as it was last published.
type Condition struct {
	At time.Duration
	trace.ConditionChanged
}

// Set is a ReplicaSet and how many pods it was to have.
type Set struct {
	Object   trace.Ref
	Hash     string
	Revision string
	Sizes    []Size
	Gone     bool
	// Failure is the standing ReplicaFailure condition; its Status is empty when there is none.
	Failure Condition

	workload *Workload
}

// Size is a ReplicaSet's spec.replicas from a time on.
type Size struct {
	At       time.Duration
	Seq      trace.Seq
	Replicas int32
}

// Now is the size at the end of the run; 0 once the ReplicaSet is gone.
func (s *Set) Now() int32 {
	if s.Gone || len(s.Sizes) == 0 {
		return 0
	}
	return s.Sizes[len(s.Sizes)-1].Replicas
}

// Counts are the numbers of one moment.
type Counts struct {
	Desired int32 `json:"desired"` // spec.replicas
	Needed  int32 `json:"needed"`  // pods that must stay available
	Old     int32 `json:"old"`     // spec.replicas of all old ReplicaSets
	New     int32 `json:"new"`     // spec.replicas of the new one, or of a bare ReplicaSet
	// Active pods are neither terminating nor ended. Updated are those of the
	// new ReplicaSet, Ready and Available parts of the active ones.
	Active    int32 `json:"active"`
	Updated   int32 `json:"updated"`
	Ready     int32 `json:"ready"`
	Available int32 `json:"available"`
	// Terminating pods have been asked to go and are still there.
	Terminating int32 `json:"terminating"`
	// Objects are all pods in the API, those that ended and were left included.
	Objects int32 `json:"objects"`
}

// Point is the counts from a time on. Seq is the last event before or at it.
type Point struct {
	At  time.Duration
	Seq trace.Seq
	Counts
}

// Spec is the workload's spec at the end of the run.
func (w *Workload) Spec() trace.Specified {
	if len(w.Specs) == 0 {
		return trace.Specified{}
	}
	return w.Specs[len(w.Specs)-1].Specified
}

// SpecAt is the workload's spec after an event.
func (w *Workload) SpecAt(seq trace.Seq) trace.Specified {
	i, found := slices.BinarySearchFunc(w.Specs, seq, func(s Spec, seq trace.Seq) int { return cmp.Compare(s.Seq, seq) })
	if !found {
		i--
	}
	if i < 0 {
		return trace.Specified{}
	}
	return w.Specs[i].Specified
}

// After are the counts right after an event, before any time has passed.
func (w *Workload) After(e trace.Event) Counts {
	i, _ := slices.BinarySearchFunc(w.Points, e, func(p Point, e trace.Event) int {
		if p.Seq > e.Seq || p.At > e.Offset {
			return 1
		}
		return -1
	})
	if i == 0 {
		return Counts{}
	}
	return w.Points[i-1].Counts
}

// AfterChange are the counts once a person's change is in the spec: the trace
// tells first who changed what, and then what that made of the workload.
func (w *Workload) AfterChange(e trace.Event) Counts {
	for i, s := range w.Specs {
		if s.Seq <= e.Seq {
			continue
		}
		if next := w.changeAfter(e.Seq); next == 0 || s.Seq < next {
			return w.After(trace.Event{Seq: w.Specs[i].Seq, Offset: s.At})
		}
		break
	}
	return w.After(e)
}

// changeAfter is the number of the next change; 0 for none.
func (w *Workload) changeAfter(seq trace.Seq) trace.Seq {
	for _, c := range w.Changes {
		if c.Seq > seq {
			return c.Seq
		}
	}
	return 0
}

// At are the counts at a time, after all that happened until then.
func (w *Workload) At(t time.Duration) Counts {
	i, _ := slices.BinarySearchFunc(w.Points, t, func(p Point, t time.Duration) int {
		if p.At > t {
			return 1
		}
		return -1
	})
	if i == 0 {
		return Counts{}
	}
	return w.Points[i-1].Counts
}

// IsNew says whether a ReplicaSet has the template the workload ended with.
func (w *Workload) IsNew(name string) bool { return w.newSet != "" && w.newSet == name }

// Bare says that the workload is a ReplicaSet without a Deployment.
func (w *Workload) Bare() bool { return w.Object.Kind == "ReplicaSet" }

// Fields are all fields that people changed, in order.
func (w *Workload) Fields() []trace.Field {
	var fields []trace.Field
	for _, c := range w.Changes {
		fields = append(fields, c.Fields...)
	}
	return fields
}

// WorkloadOf is the workload an event belongs to: its own, or that of the
// ReplicaSet or pod it is about. It is nil for events about anything else.
func (t *Timeline) WorkloadOf(e trace.Event) *Workload {
	if i, ok := t.Index.At(e.Seq); ok {
		return t.homes[i]
	}
	return nil
}

// Echo says that an event tells what an earlier one told already: the host saw
// the write, and the controller reported it once it had the answer.
func (t *Timeline) Echo(seq trace.Seq) bool { return t.echoes[seq] }
