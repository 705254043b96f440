package explain

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Recording is the events of a plan or of a recorded rollout, up to a moment.
type Recording struct {
	tl    *timeline.Timeline
	later []trace.Event // what happened after that moment
}

// NewRecording takes a plan as it stood at an offset; negative is its end.
func NewRecording(plan *v1alpha1.RolloutPlan, at time.Duration) *Recording {
	events, n := plan.Events, len(plan.Events)
	if at >= 0 {
		n, _ = slices.BinarySearchFunc(events, at+1, func(e trace.Event, until time.Duration) int { return cmp.Compare(e.Offset, until) })
	}
	return &Recording{
		tl:    timeline.Build(events[:n], timeline.Options{Started: plan.Spec.Started(), Workloads: plan.Spec.Workloads}),
		later: events[n:],
	}
}

// End is the offset of the moment that is explained.
func (r *Recording) End() time.Duration { return r.tl.End }

// Next are the steps that followed in the recording, at most so many, with the
// arithmetic behind them.
func (r *Recording) Next(most int) []trace.Event {
	var out []trace.Event
	steps := 0
	for _, e := range r.later {
		switch d := e.Detail.(type) {
		case trace.Budgeted:
			out = append(out, e)
			continue
		case trace.Scaled, trace.Created, trace.Deleted, trace.Evicted, trace.Changed:
		case trace.PodChanged:
			if !d.Ready || d.Terminating {
				continue
			}
		default:
			continue
		}
		out = append(out, e)
		if steps++; steps == most {
			break
		}
	}
	return out
}

// Workload explains a Deployment or ReplicaSet by what the recording tells of
// it; false when that is nothing.
func (r *Recording) Workload(ref trace.Ref) (*v1alpha1.ExplanationStatus, bool) {
	status := r.tl.Status()
	for i, w := range r.tl.Workloads {
		if w.Object == ref {
			return r.workload(w, status.Workloads[i], ref, func(e trace.Event) bool { return r.tl.WorkloadOf(e) == w }), true
		}
		for _, set := range w.Sets {
			if set.Object == ref {
				return r.workload(w, status.Workloads[i], ref, func(e trace.Event) bool {
					return e.Object == ref || e.Object.Kind == "Pod" && strings.HasPrefix(e.Object.Name, ref.Name+"-")
				}), true
			}
		}
	}
	return nil, false
}

// verdictCauses are the causes behind the verdicts.
var verdictCauses = map[v1alpha1.Verdict]v1alpha1.Cause{
	v1alpha1.NothingToDo: v1alpha1.CauseComplete, v1alpha1.Complete: v1alpha1.CauseComplete, v1alpha1.Paused: v1alpha1.CausePaused,
	v1alpha1.DeadlineExceeded: v1alpha1.CauseDeadline, v1alpha1.Stuck: v1alpha1.CauseWaiting, v1alpha1.LimitReached: v1alpha1.CauseWaiting,
}

func (r *Recording) workload(w *timeline.Workload, status v1alpha1.WorkloadStatus, ref trace.Ref, mine func(trace.Event) bool) *v1alpha1.ExplanationStatus {
	out := &v1alpha1.ExplanationStatus{}
	conclude(out, v1alpha1.Finding{Topic: v1alpha1.TopicState, Cause: verdictCauses[status.Verdict], Message: r.counts(w), From: "the recording"})
	for _, reason := range r.tl.Why(w.Object) {
		if w.Object == ref || reason.Object == ref || strings.HasPrefix(reason.Object.Name, ref.Name+"-") {
			out.Findings = append(out.Findings, v1alpha1.Finding{Topic: v1alpha1.TopicWaits, Message: reason.Message, Object: reason.Object, From: "the recording"})
		}
	}
	for _, e := range slices.Backward(r.tl.Events) {
		if mine(e) && isAct(e) && !r.tl.Echo(e.Seq) {
			out.Chain = r.chain(e)
			break
		}
	}
	return out
}

func (r *Recording) counts(w *timeline.Workload) string {
	c := w.At(r.tl.End)
	return countWords(c.Active, c.Desired, c.Updated, c.Available, c.Needed)
}

// countWords say how many pods a Deployment has, of which template.
func countWords(there, wanted, updated, available, needed int32) string {
	return fmt.Sprintf("%d pods of %d wanted, %d of the current template; %d available, %d needed", there, wanted, updated, available, needed)
}

// isAct says that a controller or a person did something.
func isAct(e trace.Event) bool {
	switch e.Detail.(type) {
	case trace.Scaled, trace.Created, trace.Deleted, trace.Evicted, trace.Adopted, trace.Released:
		return true
	}
	return false
}

// chain is events with what led to them, the first cause first, without the
// machinery in between.
func (r *Recording) chain(ends ...trace.Event) []trace.Event {
	seen := map[trace.Seq]bool{}
	var out []trace.Event
	for _, end := range ends {
		for _, e := range append(r.path(end), end) {
			if !seen[e.Seq] && trace.DepthOf(e.Detail) < trace.Syncs {
				seen[e.Seq] = true
				out = append(out, e)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Seq < out[j].Seq })
	return out
}

// path is what led to an event, the nearest cause first. Where that was a write,
// what it changed belongs to it: the trace has it beside the write.
func (r *Recording) path(end trace.Event) []trace.Event {
	var out []trace.Event
	from := end
	for cause, ok := r.tl.Index.Event(from.Cause); ok && cause.Seq < from.Seq; cause, ok = r.tl.Index.Event(from.Cause) {
		if of[trace.Wrote](cause.Detail) {
			out = append(out, r.changedBy(cause)...)
		}
		out = append(out, cause)
		from = cause
	}
	return out
}

// changedBy is what a write changed.
func (r *Recording) changedBy(write trace.Event) []trace.Event {
	return slices.DeleteFunc(slices.Concat(r.tl.Index.Effects(write.Seq), r.tl.Index.Effects(write.Cause)), func(e trace.Event) bool {
		switch e.Detail.(type) {
		case trace.Scaled, trace.Created, trace.Deleted, trace.Removed, trace.PodChanged, trace.Scheduled, trace.Released, trace.Adopted:
			return e.Object != write.Object || e.Offset != write.Offset || r.tl.Echo(e.Seq)
		}
		return true
	})
}
