// Package view shows a run: for people as a table with its reasons, for
// programs as JSON, YAML or JSON lines. Everything is rendered from the events
// and from what timeline makes of them.
package view

import (
	"io"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Options say how a run is shown to people. The zero value shows decisions
// only, on 100 columns; see DefaultOptions.
type Options struct {
	// Detail is how deep to go: decisions, pods, or every pass, delivery and
	// write, each on a line of its own.
	Detail trace.Depth
	// MaxPodLines is how many like lines about pods or nodes stand between two decisions
	// before the rest folds into one; 0 means DefaultMaxPodLines.
	MaxPodLines int
	// Width is the number of columns; 0 means DefaultWidth. Below 100 reasons go
	// to a second line, below 60 the sizes are dropped.
	Width int
	// Wide adds columns: ready and terminating pods, and the node.
	Wide bool
	// Color says when to use colour.
	Color Color
}

// What Options mean where they say nothing.
const (
	DefaultMaxPodLines = 5
	DefaultWidth       = 100
)

// DefaultOptions are those of the command line.
func DefaultOptions() Options { return Options{Detail: trace.Pods} }

// Human writes a run for people, one section a workload.
func Human(w io.Writer, plan *v1alpha1.RolloutPlan, opts Options) error {
	out := newPrinter(w, opts)
	tl, sections := sectionsOf(plan, out.opts)
	if len(sections) > maxSections {
		table(out, tl, sections, plan.Spec)
		return out.err
	}
	for i, s := range sections {
		if i > 0 {
			out.blank()
		}
		s.header(out)
		if rows := s.folded(); len(rows) > 0 {
			out.blank()
			s.table(out, rows)
		}
		out.blank()
		s.result(out)
	}
	if len(tl.Workloads) != 1 {
		status := tl.Status()
		out.blank()
		out.labelled("all", 11, toneOf(status.Verdict), count(int32(len(tl.Workloads)), "workload")+": "+string(status.Verdict))
	}
	return out.err
}

// sectionsOf folds a plan into what is shown of each workload.
func sectionsOf(plan *v1alpha1.RolloutPlan, opts Options) (*timeline.Timeline, []*section) {
	tl := timeline.Of(plan)
	status := tl.Status()
	sections := make([]*section, len(tl.Workloads))
	for i, w := range tl.Workloads {
		sections[i] = &section{
			tl: tl, workload: w, status: diagnosed(status.Workloads[i], plan), totals: tl.Totals(w),
			spec: plan.Spec, opts: opts, live: plan.Spec.Predicted != nil,
		}
	}
	return tl, sections
}

// section is one workload being shown.
type section struct {
	tl       *timeline.Timeline
	workload *timeline.Workload
	status   v1alpha1.WorkloadStatus
	totals   timeline.Totals
	spec     v1alpha1.RolloutPlanSpec
	opts     Options
	live     bool // a real rollout: what its kubelets say is of interest
}
