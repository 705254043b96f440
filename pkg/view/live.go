package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Live writes a real rollout while it goes: the rows of a plan, each as soon as
// it is known, with how far from its plan the rollout is. What it writes
// depends on the events alone, not on when they are told, so that a recording
// shows the same again.
type Live struct {
	out     *printer
	spec    v1alpha1.RolloutPlanSpec
	layout  *layout // once the header is written
	printed trace.Seq
	stretch stretch
	foot    []string // the lines at the bottom, on a terminal
}

// NewLive makes one for the run that spec asks about.
func NewLive(w io.Writer, spec v1alpha1.RolloutPlanSpec, opts Options) *Live {
	l := &Live{out: newPrinter(w, opts), spec: spec}
	l.stretch.clear()
	return l
}

// Replay writes a finished recording as Live wrote it.
func Replay(w io.Writer, plan *v1alpha1.RolloutPlan, opts Options) error {
	l := NewLive(w, plan.Spec, opts)
	if err := l.Update(plan.Events); err != nil {
		return err
	}
	return l.Finish(plan)
}

// Update writes what is new in the events so far, which are all there are.
func (l *Live) Update(events []trace.Event) error {
	began := slices.IndexFunc(events, func(e trace.Event) bool { return e.Actor != trace.ActorWorld })
	if began < 0 {
		return l.out.err
	}
	tl := timeline.Build(events, timeline.Options{Started: l.spec.Started(), Workloads: l.spec.Workloads})
	if l.layout == nil {
		l.header(events, events[began].Offset)
	}
	rows := l.rows(tl)
	if len(rows) > 0 {
		l.erase()
	}
	for _, r := range rows {
		l.row(r)
	}
	l.printed = max(l.printed, events[len(events)-1].Seq)
	return l.out.err
}

// rows are those not written yet, of all workloads.
func (l *Live) rows(tl *timeline.Timeline) []row {
	var out []row
	for _, s := range l.sections(tl) {
		for _, r := range s.rows() {
			_, hold := r.event.Detail.(trace.Held)
			if r.event.Seq > l.printed && (!hold || s.opts.Detail >= trace.Syncs) {
				out = append(out, l.placed(s, r))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(a.event.Seq, b.event.Seq) })
	return out
}

// placed adds what a row shows of its workload and of the plan.
func (l *Live) placed(s *section, r row) row {
	if len(l.spec.Workloads) > 1 {
		r.of = s.workload.Object.Name
	}
	if off, ok := s.tl.Deviation(l.spec.Predicted, r.event); ok {
		r.off = fmt.Sprintf("%+.1fs", off.Seconds())
	}
	return r
}

func (l *Live) sections(tl *timeline.Timeline) []*section {
	out := make([]*section, len(tl.Workloads))
	for i, w := range tl.Workloads {
		out[i] = &section{tl: tl, workload: w, totals: tl.Totals(w), spec: l.spec, opts: l.out.opts, live: true}
	}
	return out
}

// header says what is changed, as far as the first moment tells.
func (l *Live) header(events []trace.Event, until time.Duration) {
	first := events[:slices.IndexFunc(append(slices.Clone(events), trace.Event{Offset: 1<<63 - 1}), func(e trace.Event) bool { return e.Offset > until })]
	tl := timeline.Build(first, timeline.Options{Started: l.spec.Started(), Workloads: l.spec.Workloads})
	sections := l.sections(tl)
	for _, s := range sections {
		s.header(l.out)
	}
	l.out.blank()
	l.layout = l.columns(sections)
	l.layout.head(l.out)
}

// columns have the widths that the largest numbers to come need.
func (l *Live) columns(sections []*section) *layout {
	most, bare, name := int32(0), true, 0
	for _, s := range sections {
		spec := s.workload.Spec()
		most = max(most, spec.Replicas+spec.Surge, s.workload.At(1<<62).Active)
		bare = bare && s.workload.Bare()
		name = max(name, wide(s.workload.Object.Name))
	}
	digits := len(strconv.Itoa(int(most)))
	columns := (&section{workload: &timeline.Workload{Object: trace.Ref{Kind: kindFor(bare)}}, opts: l.out.opts}).columns()
	next := 1
	if l.spec.Predicted != nil {
		columns = slices.Insert(columns, next, column{title: "PLAN", right: true, gap: 2, width: 6, of: func(r row) string { return r.off }})
		next++
	}
	if len(sections) > 1 {
		columns = slices.Insert(columns, next, column{title: "OF", gap: 2, width: min(name, 20), of: func(r row) string { return r.of }})
	}
	left := 2
	for i := range columns {
		c := &columns[i]
		switch c.title {
		case "AVAIL":
			c.width = max(len(c.title), 2*digits+1)
		case "WHO":
			c.width = len(trace.ActorReplicaSet)
		case "NODE":
			c.width = 12
		default:
			c.width = max(c.width, len(c.title), digits)
		}
		left += c.gap + c.width
	}
	out := &layout{columns: columns, left: left}
	if l.out.opts.Width >= reasonsBeside {
		out.what = (l.out.opts.Width - left) / 2
	}
	return out
}

func kindFor(bare bool) string {
	if bare {
		return "ReplicaSet"
	}
	return "Deployment"
}

// row writes a row, or keeps it where like rows stand already.
func (l *Live) row(r row) {
	if r.pods == nil {
		l.flush()
		l.layout.row(l.out, r)
		return
	}
	if l.stretch.keeps(r, r.pods.limit(l.out.opts.MaxPodLines)) {
		l.layout.row(l.out, r)
	}
}

func (l *Live) flush() {
	for _, r := range l.stretch.rest() {
		l.layout.row(l.out, r)
	}
	l.stretch.clear()
}

// Foot shows lines at the bottom of a terminal of so many columns, in place of
// the last ones; none takes them away. The next row comes above them.
func (l *Live) Foot(lines []string, width int) error {
	if l.layout == nil || slices.Equal(lines, l.foot) {
		return l.out.err
	}
	text := l.erasure(width) + strings.Join(lines, "\n")
	l.foot = lines
	l.out.write(text) // at once: nobody sees half of it
	return l.out.err
}

// Muted is a line of the foot that matters less, cut to so many columns.
func (l *Live) Muted(text string, width int) string {
	return l.out.theme.paint(muted, cut(clean(text)+" ", max(width-1, 1)))
}

func (l *Live) erase() {
	l.out.write(l.erasure(0))
	l.foot = nil
}

// erasure takes the foot away: up to its first line, and clear all below. On a
// terminal that has become narrower than it was, lines have become several.
func (l *Live) erasure(width int) string {
	up := 0
	for _, line := range l.foot {
		up++
		if width > 0 {
			up += max(0, wide(line)-1) / width
		}
	}
	switch up {
	case 0:
		return ""
	case 1:
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up-1)
}

// Note writes a line between the rows, which a recording does not show again.
func (l *Live) Note(label, text string) error {
	l.erase()
	l.out.labelled(label, resultColumn, muted, text)
	return l.out.err
}

// Finish writes what became of it, and of the plan.
func (l *Live) Finish(plan *v1alpha1.RolloutPlan) error {
	l.erase()
	if l.layout != nil {
		l.flush()
		l.out.blank()
	}
	tl := timeline.Of(plan)
	status := tl.Status()
	for i, s := range l.sections(tl) {
		s.status = status.Workloads[i]
		if len(tl.Workloads) > 1 {
			l.out.labelled("of", resultColumn, strong, named(s.workload.Object))
		}
		s.result(l.out)
	}
	if p := l.spec.Predicted; p != nil {
		l.out.labelled("planned", resultColumn, plain, against(p, status))
		l.diverged(plan.Status.Divergence)
	}
	return l.out.err
}

// against compares a plan with what became of it.
func against(p *v1alpha1.Predicted, real v1alpha1.RolloutPlanStatus) string {
	text := fmt.Sprintf("%s after %s", p.Verdict, brief(p.DurationSeconds))
	if p.Verdict != real.Verdict {
		return text + ", which it was not"
	}
	switch off := real.DurationSeconds - p.DurationSeconds; {
	case off >= 0.05:
		return text + ": it took " + brief(off) + " longer"
	case off <= -0.05:
		return text + ": it took " + brief(-off) + " less"
	}
	return text + ", as it was"
}
