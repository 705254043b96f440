package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// diagnosed takes over what was found out about a workload by playing its
// change again: the events alone do not tell it.
func diagnosed(status v1alpha1.WorkloadStatus, plan *v1alpha1.RolloutPlan) v1alpha1.WorkloadStatus {
	for _, w := range plan.Status.Workloads {
		if w.Object == status.Object && w.Diagnosis != nil {
			status.Diagnosis = w.Diagnosis
		}
	}
	return status
}

// diagnosis is what holds the workload, and what would let it complete at which cost.
func (s *section) diagnosis(out *printer) {
	d := s.status.Diagnosis
	if d == nil {
		return
	}
	if d.Wait != nil {
		out.labelled("waited", resultColumn, plain, fmt.Sprintf("%s, from %s to %s", brief(d.Wait.ToSeconds-d.Wait.FromSeconds), brief(d.Wait.FromSeconds), brief(d.Wait.ToSeconds)))
		for _, r := range d.Wait.Reasons {
			out.labelled("  for", resultColumn, plain, r.Message)
			s.tried(out, r)
		}
	}
	label := "held by"
	for _, c := range d.Constraints {
		out.labelled(label, resultColumn, plain, c.Message)
		label = ""
	}
	label = "  mend"
	for _, r := range d.Remedies {
		out.labelled(label, resultColumn, strong, s.remedy(r))
		label = "  or"
	}
	switch {
	case d.Omitted != "":
		out.labelled("", resultColumn, muted, "what holds it was not looked into further: "+d.Omitted)
	case len(d.Remedies) == 0 && d.Runs > 0:
		out.labelled("", resultColumn, muted, fmt.Sprintf("none of the changes that were tried in %s would let it go on", count(int32(d.Runs), "run")))
	}
}

// remedy is a change and what the rollout then costs.
func (s *section) remedy(r v1alpha1.Remedy) string {
	return fmt.Sprintf("%s: complete after %s, at most %s at once, never below %d of %d available",
		strings.Join(r.Changes, ", and "), brief(r.DurationSeconds), count(r.PeakPods, "pod"), r.LeastAvailable, s.status.Available.Desired)
}

// mend is what the events themselves tell of a remedy, where no run has told better.
func (s *section) mend(out *printer, r v1alpha1.Reason) {
	if r.Remedy != "" && !s.status.Diagnosis.Better(r) {
		out.labelled("  mend", resultColumn, strong, r.Remedy)
	}
}

// maxTries is how many times of attempts are listed.
const maxTries = 24

// tried lists when a request was refused.
func (s *section) tried(out *printer, r v1alpha1.Reason) {
	if len(r.TriedSeconds) < 2 {
		return
	}
	var times []string
	for _, at := range r.TriedSeconds {
		times = append(times, strconv.FormatFloat(at, 'f', -1, 64))
	}
	if n := len(times); n > maxTries {
		times = append(times[:maxTries/2:maxTries/2], append([]string{"…"}, times[n-maxTries/2:]...)...)
	}
	out.labelled("  tried", resultColumn, muted, fmt.Sprintf("%s, at %s s", count(int32(len(r.TriedSeconds)), "time"), strings.Join(times, ", ")))
}
