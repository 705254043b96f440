package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
)

// chartRows is how high a chart is at most, chartTicks how many times stand below it.
const (
	chartRows  = 10
	chartTicks = 5
)

// series is one line of a chart.
type series struct {
	name string
	tone tone
	mark asciigraph.CharSet // so that lines differ without colour, too
	of   func(timeline.Counts) int32
	// least keeps the lowest value of a stretch of time instead of the highest.
	least bool
}

// The marks: light lines are the rule.
var (
	heavyLine = asciigraph.CharSet{
		Horizontal: "━", VerticalLine: "┃", ArcDownRight: "┏", ArcDownLeft: "┓", ArcUpRight: "┗", ArcUpLeft: "┛", EndCap: "╸", StartCap: "╺",
	}
	dottedLine = asciigraph.CreateCharSet("·")
)

// Chart draws for each workload what was available and needed, old and new, and
// terminating, over the time in which it moved.
func Chart(w io.Writer, plan *v1alpha1.RolloutPlan, opts Options) error {
	out := newPrinter(w, opts)
	_, sections := sectionsOf(plan, out.opts)
	for _, s := range sections {
		if len(sections) > 1 {
			out.blank()
			out.line(cell{text: named(s.workload.Object), tone: strong})
		}
		s.charts(out)
	}
	return out.err
}

func (s *section) charts(out *printer) {
	if s.totals.LastMove <= 0 {
		out.blank()
		out.line(cell{text: "no chart: nothing moves", tone: muted})
		return
	}
	needed := series{name: "needed", tone: bad, mark: dottedLine, of: func(c timeline.Counts) int32 { return c.Needed }}
	available := series{name: "available", tone: good, mark: asciigraph.DefaultCharSet, of: func(c timeline.Counts) int32 { return c.Available }, least: true}
	s.chart(out, needed, available)
	s.chart(out,
		series{name: "old", tone: stale, mark: asciigraph.DefaultCharSet, of: func(c timeline.Counts) int32 { return c.Active - c.Updated }},
		series{name: "new", tone: fresh, mark: heavyLine, of: func(c timeline.Counts) int32 { return c.Updated }})
	terminating := series{name: "terminating", tone: plain, mark: asciigraph.DefaultCharSet, of: func(c timeline.Counts) int32 { return c.Terminating }}
	if s.highest(terminating) > 0 {
		s.chart(out, terminating)
	}
}

// chart draws lines over one another, the last on top.
func (s *section) chart(out *printer, lines ...series) {
	top := int32(1)
	for _, l := range lines {
		top = max(top, s.highest(l))
	}
	pods := podsARow(top)
	rows := (top + pods - 1) / pods
	top = rows * pods
	label := len(fmt.Sprint(top))
	data := make([][]float64, len(lines))
	for i, l := range lines {
		data[i] = s.sampled(l, out.opts.Width-label-6)
	}
	out.blank()
	s.legend(out, lines)
	graph := asciigraph.PlotMany(data, asciigraph.Height(int(rows)), asciigraph.LowerBound(0), asciigraph.UpperBound(float64(top)),
		asciigraph.SeriesChars(marks(lines)...), asciigraph.SeriesColors(out.theme.chartColors(lines)...),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%*.0f", label, v) }),
		asciigraph.XAxisRange(0, s.totals.LastMove.Seconds()), asciigraph.XAxisTickCount(chartTicks), asciigraph.XAxisValueFormatter(brief))
	for line := range strings.Lines(graph) {
		out.write(strings.TrimRight(line, " \n") + "\n")
	}
}

// podsARow is how many pods a row of a chart stands for: 1, 2, 5, 10, 20 and so on.
func podsARow(top int32) int32 {
	for unit := 1; ; unit *= 10 {
		for _, step := range []int{unit, 2 * unit, 5 * unit} {
			if step*chartRows >= int(top) {
				return int32(step)
			}
		}
	}
}

// legend says which line is which.
func (s *section) legend(out *printer, lines []series) {
	cells := []cell{{text: "pods", tone: muted}}
	for _, l := range lines {
		cells = append(cells, cell{text: "  "}, cell{text: l.mark.Horizontal + l.mark.Horizontal, tone: l.tone}, cell{text: " " + l.name})
	}
	out.line(cells...)
}

func marks(lines []series) []asciigraph.CharSet {
	out := make([]asciigraph.CharSet, len(lines))
	for i, l := range lines {
		out[i] = l.mark
	}
	return out
}

func (s *section) highest(l series) int32 {
	most := int32(0)
	for _, p := range s.workload.Points {
		most = max(most, l.of(p.Counts))
	}
	return most
}

// sampled are n values at equal distances, from the start to the last move.
// Each is the extreme of its stretch of time, so that no dip or peak is lost.
func (s *section) sampled(l series, n int) []float64 {
	points := s.workload.Points
	pick := func(a, b int32) int32 { return max(a, b) }
	if l.least {
		pick = func(a, b int32) int32 { return min(a, b) }
	}
	n = max(n, 2)
	out := make([]float64, n)
	now, next := l.of(points[0].Counts), 1
	out[0] = float64(now)
	for i := 1; i < n; i++ {
		until := s.totals.LastMove * time.Duration(i) / time.Duration(n-1)
		extreme := now
		for ; next < len(points) && points[next].At <= until; next++ {
			now = l.of(points[next].Counts)
			extreme = pick(extreme, now)
		}
		out[i] = float64(extreme)
	}
	out[n-1] = float64(now)
	return out
}

// chartColors are the colours of the tones; all default where there is none.
func (t theme) chartColors(lines []series) []asciigraph.AnsiColor {
	colors := map[tone]asciigraph.AnsiColor{good: asciigraph.Green, bad: asciigraph.Maroon, fresh: asciigraph.Teal, stale: asciigraph.Purple}
	out := make([]asciigraph.AnsiColor, len(lines))
	for i, l := range lines {
		if t.paint(bad, "x") != "x" {
			out[i] = colors[l.tone]
		}
	}
	return out
}
