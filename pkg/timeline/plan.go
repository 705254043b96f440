package timeline

import (
	"math"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Of folds the events of a plan.
func Of(plan *v1alpha1.RolloutPlan) *Timeline {
	return Build(plan.Events, Options{Started: plan.Spec.Started(), Workloads: plan.Spec.Workloads})
}

// NewPlan is the plan of a run: its inputs, its events and what they add up to.
func NewPlan(spec v1alpha1.RolloutPlanSpec, events []trace.Event) *v1alpha1.RolloutPlan {
	plan := v1alpha1.NewRolloutPlan(spec)
	plan.Events = events
	plan.Status = Of(plan).Status()
	return plan
}

// Status is what a run adds up to, in the shape that scripts read.
func (t *Timeline) Status() v1alpha1.RolloutPlanStatus {
	status := v1alpha1.RolloutPlanStatus{Verdict: v1alpha1.NothingToDo, Workloads: []v1alpha1.WorkloadStatus{}}
	status.Total = v1alpha1.Total{Workloads: int32(len(t.Workloads)), Verdicts: map[v1alpha1.Verdict]int32{}, Pods: podTotals(t.All())}
	for _, w := range t.Workloads {
		s := t.workloadStatus(w)
		status.Workloads = append(status.Workloads, s)
		status.Total.Verdicts[s.Verdict]++
		status.DurationSeconds = max(status.DurationSeconds, s.DurationSeconds)
		if s.Verdict.WorseThan(status.Verdict) {
			status.Verdict = s.Verdict
		}
	}
	return status
}

func (t *Timeline) workloadStatus(w *Workload) v1alpha1.WorkloadStatus {
	totals := t.Totals(w)
	verdict := t.verdict(w, totals)
	spec := w.Spec()
	s := v1alpha1.WorkloadStatus{
		Object: w.Object, Other: w.Other, Changes: w.Fields(), Verdict: verdict, Reasons: t.reasons(w, verdict),
		DurationSeconds: seconds(t.duration(w, verdict, totals)),
		Pods:            podTotals(totals),
		Available: v1alpha1.Availability{
			Least: totals.Least, LeastSeconds: seconds(totals.LeastAt), BelowNeededSeconds: seconds(totals.Below),
			Needed: spec.Needed, Desired: spec.Replicas,
		},
		LongestWaitForProgressSeconds: seconds(totals.LongestWait),
	}
	for _, at := range w.Missed {
		s.DeadlineMissedSeconds = append(s.DeadlineMissedSeconds, seconds(at))
	}
	if s.Changes == nil {
		s.Changes = []trace.Field{}
	}
	if s.Reasons == nil {
		s.Reasons = []v1alpha1.Reason{}
	}
	return s
}

func podTotals(t Totals) v1alpha1.PodTotals {
	return v1alpha1.PodTotals{
		Created: t.Created, Deleted: t.Deleted, Peak: t.Peak,
		PeakWithTerminating: t.PeakObjects, PeakWithTerminatingSeconds: seconds(t.PeakObjectsAt),
	}
}

// Restore gives a plan that was folded anew from its events what those do not
// hold: the diagnosis that it was saved with, and what mends its workloads.
func Restore(plan *v1alpha1.RolloutPlan, saved v1alpha1.RolloutPlanStatus) {
	for i := range plan.Status.Workloads {
		w := &plan.Status.Workloads[i]
		for _, was := range saved.Workloads {
			if was.Object == w.Object && was.Verdict == w.Verdict && was.Diagnosis != nil {
				w.Diagnosis, w.Reasons = was.Diagnosis, was.Reasons
			}
		}
	}
}

// duration is how long the workload took to its verdict.
func (t *Timeline) duration(w *Workload, verdict v1alpha1.Verdict, totals Totals) time.Duration {
	switch verdict {
	case v1alpha1.Complete:
		return totals.CompleteAt
	case v1alpha1.NothingToDo:
		return 0
	case v1alpha1.LimitReached:
		return t.End
	case v1alpha1.DeadlineExceeded:
		if c := w.Conditions["Progressing"]; c.Reason == deadlineExceeded {
			return c.At
		}
		return t.End
	}
	return totals.LastMove
}

// seconds is a duration to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
