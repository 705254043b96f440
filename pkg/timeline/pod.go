package timeline

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// State is what a pod is at a moment: one word of a closed set.
type State string

// The states.
const (
	Pending     State = "Pending"     // not running yet
	Running     State = "Running"     // running, not ready
	Ready       State = "Ready"       // ready, for less than minReadySeconds
	Available   State = "Available"   // ready for minReadySeconds
	Terminating State = "Terminating" // asked to go, still there
	Ended       State = "Ended"       // Succeeded or Failed, and left as it is
	Gone        State = "Gone"        // no longer in the API
)

// Pod is one pod over the run.
type Pod struct {
	Object trace.Ref
	// Set is the ReplicaSet that has it, or had it last.
	Set  *Set
	Node string
	// Lane is its states in order; the first is that in which it came up.
	Lane []Lane
	// Found says that the pod was there when the run began.
	Found bool
	// Trouble is the latest reason why it is not ready; empty once it is.
	Trouble string
	// Unschedulable is why no node took it; nil once one did.
	Unschedulable *trace.Unschedulable
	// Asked is the Deleted event with which it was asked to go; 0 for none.
	Asked trace.Seq

	phase       string
	ready       bool
	available   bool
	terminating bool
	removed     bool
	released    bool
	deleted     bool // counted among the deleted
	readySince  time.Duration
}

// Lane is a pod's state from a time on.
type Lane struct {
	At    time.Duration
	State State
	// Seq is the event that brought the pod into it; 0 when only time had to pass.
	Seq trace.Seq
}

// longAgo is the ready time of pods that were available before the run.
const longAgo = -1 << 62

// State is the pod's state at the end of the run.
func (p *Pod) State() State {
	switch {
	case p.removed:
		return Gone
	case p.terminating:
		return Terminating
	case p.phase == "Succeeded" || p.phase == "Failed":
		return Ended
	case p.ready && p.available:
		return Available
	case p.ready:
		return Ready
	case p.phase == "Running":
		return Running
	}
	return Pending
}

// Active says that the pod counts for its ReplicaSet.
func (p *Pod) Active() bool {
	switch p.State() {
	case Gone, Terminating, Ended:
		return false
	}
	return !p.released
}

// Since is when the pod came into its last state.
func (p *Pod) Since() time.Duration { return p.Lane[len(p.Lane)-1].At }

// workload is the workload that the pod counts for; nil for none.
func (p *Pod) workload() *Workload {
	if p.Set == nil || p.released {
		return nil
	}
	return p.Set.workload
}

// weigh adds the pod to its workload's counts, or takes it away with sign -1.
func (p *Pod) weigh(sign int32) {
	w := p.workload()
	if w == nil {
		return
	}
	c := &w.counts
	state := p.State()
	if state == Gone {
		return
	}
	c.Objects += sign
	if state == Terminating {
		c.Terminating += sign
	}
	if !p.Active() {
		return
	}
	c.Active += sign
	if w.Bare() || w.IsNew(p.Set.Object.Name) {
		c.Updated += sign
	}
	if state == Ready || state == Available {
		c.Ready += sign
	}
	if state == Available {
		c.Available += sign
	}
}
