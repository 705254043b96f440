package view

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// Sweep writes for people how the results of many runs are spread: in full for
// one workload, a line each for several.
func Sweep(w io.Writer, s *v1alpha1.RolloutSweep, opts Options) error {
	out := newPrinter(w, opts)
	sweepHeader(out, s)
	out.blank()
	if len(s.Status.Workloads) == 1 {
		spreads(out, s.Status.Workloads[0])
	} else {
		sweepTable(out, s)
	}
	out.blank()
	out.labelled("result", resultColumn, toneOf(s.Status.Verdict), shares(s.Status.Verdicts))
	worst := s.Status.Worst
	out.labelled("worst", resultColumn, plain, fmt.Sprintf("%s; --seed %d without --runs shows it", ended(worst.Verdict, worst.DurationSeconds), worst.Seed))
	return out.err
}

func sweepHeader(out *printer, s *v1alpha1.RolloutSweep) {
	runs := fmt.Sprintf("%d runs", s.Spec.Runs)
	if n := len(s.Runs); s.Spec.Shard != nil {
		runs = fmt.Sprintf("%d of %d runs (shard %d/%d)", n, s.Spec.Runs, s.Spec.Shard.Index, s.Spec.Shard.Count)
	}
	seeds := fmt.Sprintf("seeds %d to %d", s.Runs[0].Seed, s.Runs[len(s.Runs)-1].Seed)
	title := fmt.Sprintf("%d workloads", len(s.Spec.Workloads))
	if len(s.Spec.Workloads) == 1 {
		at := s.Spec.Workloads[0]
		title = strings.ToLower(at.Kind) + "/" + at.Name + "  ns " + at.Namespace
	}
	out.parts("", 0, "  ", []string{title, " " + runs, " " + seeds})
	out.parts("  world", headerColumn, ";  ", s.Spec.World)
}

// spreads is the table of one workload: a number a line, its percentiles beside it.
func spreads(out *printer, w v1alpha1.SweepWorkload) {
	line := func(name string, tone tone, texts [6]string) {
		cells := []cell{{text: name, width: 23, tone: tone}}
		for _, text := range texts {
			cells = append(cells, cell{text: text, width: 9, right: true, tone: tone})
		}
		out.line(cells...)
	}
	line("", muted, [6]string{"LEAST", "P5", "P50", "P95", "P99", "MOST"})
	for _, row := range []struct {
		name   string
		spread v1alpha1.Spread
		text   func(float64) string
	}{
		{"duration", w.DurationSeconds, brief},
		{fmt.Sprintf("least available (of %d)", w.Desired), w.LeastAvailable, whole},
		{"most pods at once", w.Peak, whole},
		{"with those terminating", w.PeakWithTerminating, whole},
	} {
		v := row.spread
		line(row.name, plain, [6]string{row.text(v.Min), row.text(v.P5), row.text(v.P50), row.text(v.P95), row.text(v.P99), row.text(v.Max)})
	}
}

func whole(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// sweepTable is the table of several workloads.
func sweepTable(out *printer, s *v1alpha1.RolloutSweep) {
	t := grid{columns: []gridColumn{{title: "WORKLOAD"}, {title: "RESULT"}, {title: "P50", right: true}, {title: "P95", right: true}, {title: "MOST", right: true},
		{title: "AVAIL", right: true}, {title: "PEAK", right: true}, {title: "WORST SEED", right: true}}}
	for _, w := range s.Status.Workloads {
		t.add(toneOf(w.Verdict), nameIn(w.Object, s.Spec.Workloads), shares(w.Verdicts),
			brief(w.DurationSeconds.P50), brief(w.DurationSeconds.P95), brief(w.DurationSeconds.Max),
			fmt.Sprintf("%s/%d", whole(w.LeastAvailable.Min), w.Needed), whole(w.Peak.Max), strconv.FormatUint(w.Worst.Seed, 10))
	}
	t.write(out)
}

// shares is how many runs ended how: Complete 97.5%, Stuck 2.5%.
func shares(all []v1alpha1.VerdictShare) string {
	parts := make([]string, len(all))
	for i, s := range all {
		// Never 100% of what is not all, nor 0% of what is there.
		percent := min(max(math.Round(s.Share*1000)/10, 0.1), 99.9)
		if s.Share == 1 {
			percent = 100
		}
		parts[i] = string(s.Verdict) + " " + whole(percent) + "%"
	}
	return strings.Join(parts, ", ")
}
