package view

import (
	"fmt"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// maxSections is how many workloads are shown step by step; more are a table.
const maxSections = 5

// table shows many workloads, a line each, and what they add up to.
func table(out *printer, tl *timeline.Timeline, sections []*section, spec v1alpha1.RolloutPlanSpec) {
	status := tl.Status()
	for i, s := range sections {
		status.Workloads[i] = s.status // with its diagnosis
	}
	out.parts("  world", headerColumn, ";  ", append(append([]string{}, spec.World...), fmt.Sprintf("seed %d", spec.Seed)))
	out.blank()
	objects := make([]trace.Ref, len(status.Workloads))
	for i, w := range status.Workloads {
		objects[i] = w.Object
	}
	t := grid{columns: []gridColumn{{title: "WORKLOAD"}, {title: verdictTitle}, {title: "DURATION", right: true}, {title: "AVAIL", right: true},
		{title: "NEEDED", right: true}, {title: "CREATED", right: true}, {title: "DELETED", right: true}, {title: "PEAK", right: true}}}
	for _, w := range status.Workloads {
		t.add(toneOf(w.Verdict), nameIn(w.Object, objects), string(w.Verdict), brief(w.DurationSeconds), fmt.Sprintf("%d/%d", w.Available.Least, w.Available.Desired),
			fmt.Sprint(w.Available.Needed), fmt.Sprint(w.Pods.Created), fmt.Sprint(w.Pods.Deleted), fmt.Sprint(w.Pods.Peak))
	}
	t.write(out)
	out.blank()
	reasons(out, status.Workloads, objects)
	total := tl.All()
	out.labelled("all", resultColumn, toneOf(status.Verdict), fmt.Sprintf("%s: %s", count(int32(len(status.Workloads)), "workload"), verdictCounts(status.Workloads)))
	out.labelled("result", resultColumn, toneOf(status.Verdict), ended(status.Verdict, status.DurationSeconds))
	out.labelled("pods", resultColumn, plain, fmt.Sprintf("created %d, deleted %d;  at most %d at once, %d with those terminating (at %s)",
		total.Created, total.Deleted, total.Peak, total.PeakObjects, brief(total.PeakObjectsAt.Seconds())))
}

// reasons are those of all workloads, each type once: with the first workload it
// is about, and how many others.
func reasons(out *printer, all []v1alpha1.WorkloadStatus, objects []trace.Ref) {
	type found struct {
		reason v1alpha1.Reason
		first  trace.Ref
		last   int // of the workloads it is about
		others int32
	}
	var list []*found
	seen := map[string]*found{}
	for i, w := range all {
		if w.Verdict == v1alpha1.NothingToDo {
			continue
		}
		for _, r := range w.Reasons {
			switch f := seen[r.Type]; {
			case f == nil:
				seen[r.Type] = &found{reason: r, first: w.Object, last: i}
				list = append(list, seen[r.Type])
			case f.last != i:
				f.last, f.others = i, f.others+1
			}
		}
	}
	for _, f := range list {
		name := nameIn(f.first, objects)
		if f.others > 0 {
			name += " and " + count(f.others, "other")
		}
		out.labelled("reason", resultColumn, plain, name+": "+f.reason.Message)
		if f.reason.Remedy != "" {
			out.labelled("  mend", resultColumn, strong, f.reason.Remedy)
		}
	}
}

// verdictCounts is 198 Complete, 2 Stuck: from best to worst.
func verdictCounts(all []v1alpha1.WorkloadStatus) string {
	n := map[v1alpha1.Verdict]int{}
	for _, w := range all {
		n[w.Verdict]++
	}
	text := ""
	for _, v := range []v1alpha1.Verdict{v1alpha1.NothingToDo, v1alpha1.Complete, v1alpha1.Paused, v1alpha1.LimitReached, v1alpha1.Stuck, v1alpha1.DeadlineExceeded} {
		if n[v] == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", n[v], v)
	}
	return text
}
