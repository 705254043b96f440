package view

import (
	"fmt"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
)

// Widths below which the table changes its shape.
const (
	reasonsBeside = 100 // at least this wide, BECAUSE stands beside WHAT
	sizesShown    = 60  // at least this wide, sizes are shown
)

// column is a column of numbers or words to the left of WHAT.
type column struct {
	title string
	right bool
	gap   int
	width int
	of    func(row) string
}

// table shows the rows in time order.
func (s *section) table(out *printer, rows []row) {
	columns := s.columns()
	left := 0
	for i := range columns {
		c := &columns[i]
		c.width = max(c.width, wide(c.title))
		for _, r := range rows {
			c.width = max(c.width, wide(clean(c.of(r))))
		}
		left += c.gap + c.width
	}
	left += 2
	l := layout{columns: columns, left: left, what: whatWidth(rows, out.opts.Width-left)}
	if out.opts.Width < reasonsBeside {
		l.what = 0
	}
	l.head(out)
	last := row{}
	for _, r := range rows {
		shown := r
		if l.what == 0 && r.pods != nil && last.pods != nil && *r.pods == *last.pods && r.because == last.because {
			shown.because = "" // on a line of its own it is worth saying once
		}
		l.row(out, shown)
		last = r
	}
}

func (s *section) columns() []column {
	numbers := func(f func(timeline.Counts) string) func(row) string {
		return func(r row) string {
			if r.counts == nil {
				return ""
			}
			return f(*r.counts)
		}
	}
	one := func(f func(timeline.Counts) int32) func(row) string {
		return numbers(func(c timeline.Counts) string { return fmt.Sprint(f(c)) })
	}
	columns := []column{{title: "TIME", right: true, gap: 1, width: 8, of: func(r row) string { return clock(r.at) }}}
	sizes := []column{
		{title: "OLD", right: true, gap: 2, of: one(func(c timeline.Counts) int32 { return c.Old })},
		{title: "NEW", right: true, gap: 1, of: one(func(c timeline.Counts) int32 { return c.New })},
	}
	if s.workload.Bare() {
		sizes = []column{
			{title: "WANT", right: true, gap: 2, of: one(func(c timeline.Counts) int32 { return c.New })},
			{title: "HAVE", right: true, gap: 1, of: one(func(c timeline.Counts) int32 { return c.Active })},
		}
	}
	if s.opts.Width >= sizesShown {
		columns = append(columns, sizes...)
	}
	columns = append(columns, column{title: "AVAIL", right: true, gap: 2, of: numbers(func(c timeline.Counts) string {
		return fmt.Sprintf("%d/%d", c.Available, c.Needed)
	})})
	if s.opts.Wide {
		columns = append(columns,
			column{title: "READY", right: true, gap: 2, of: one(func(c timeline.Counts) int32 { return c.Ready })},
			column{title: "TERM", right: true, gap: 2, of: one(func(c timeline.Counts) int32 { return c.Terminating })},
			column{title: "NODE", gap: 2, of: func(r row) string { return r.node }})
	}
	return append(columns, column{title: "WHO", gap: 2, of: func(r row) string { return r.who }})
}

// whatWidth is the width of WHAT beside BECAUSE: what most rows need, at most half of the room.
func whatWidth(rows []row, room int) int {
	width := wide("WHAT")
	for _, r := range rows {
		if n := wide(clean(r.what)); r.because != "" && n <= room/2 {
			width = max(width, n)
		}
	}
	return width
}

// layout is where things stand; what is 0 when BECAUSE goes to a second line.
type layout struct {
	columns    []column
	left, what int
}

func (l layout) head(out *printer) {
	because := ""
	if l.what > 0 {
		because = "BECAUSE"
	}
	l.write(out, row{tone: muted}, func(c column) string { return c.title }, "WHAT", because)
}

func (l layout) row(out *printer, r row) {
	what, because := clean(r.what), clean(r.because)
	if l.what == 0 {
		if because == "" || l.left+wide(what)+2+wide(because) > out.opts.Width {
			l.stacked(out, r, what, because)
			return
		}
		l.write(out, r, l.cells(r, true), what, because)
		return
	}
	if wide(what) > l.what && because != "" || wide(what) > out.opts.Width-l.left {
		l.stacked(out, r, what, because)
		return
	}
	for i, part := range wrap(because, out.opts.Width-l.left-l.what-2) {
		l.write(out, r, l.cells(r, i == 0), what, part)
		what = ""
	}
}

// stacked puts BECAUSE below WHAT, a little to the right.
func (l layout) stacked(out *printer, r row, what, because string) {
	for i, part := range wrap(what, out.opts.Width-l.left) {
		l.write(out, r, l.cells(r, i == 0), part, "")
	}
	if because == "" {
		return
	}
	for _, part := range wrap(because, out.opts.Width-l.left-2) {
		out.line(cell{width: l.left + 2}, cell{text: part, tone: muted})
	}
}

func (l layout) cells(r row, first bool) func(column) string {
	if !first {
		return none
	}
	return func(c column) string { return c.of(r) }
}

func none(column) string { return "" }

// write puts one line together: the columns, WHAT and BECAUSE.
func (l layout) write(out *printer, r row, text func(column) string, what, because string) {
	var cells []cell
	for _, c := range l.columns {
		tone := plain
		if c.title == "TIME" || r.who == "" {
			tone = muted
		}
		cells = append(cells, cell{width: c.gap}, cell{text: text(c), width: c.width, right: c.right, tone: tone})
	}
	cells = append(cells, cell{width: 2}, cell{text: what, width: l.what, tone: r.tone}, cell{width: 2}, cell{text: because, tone: muted})
	out.line(cells...)
}
