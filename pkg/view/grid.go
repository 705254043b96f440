package view

import (
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// grid is a plain table: a line each, columns as wide as what stands in them.
type grid struct {
	columns []gridColumn
	rows    []gridRow
	// spare is how many of the last columns may be left out where the line is
	// too short for them.
	spare int
}

type gridColumn struct {
	title string
	right bool
	width int
}

type gridRow struct {
	texts []string
	tone  tone // of its verdict
}

// verdictTitle is the column that has its row's colour.
const verdictTitle = "RESULT"

func (g *grid) add(tone tone, texts ...string) { g.rows = append(g.rows, gridRow{texts, tone}) }

// narrow is what a first column may be wrapped to.
const narrow = 12

// write prints the table. Where it is too wide for the line, spare columns are
// left out, and then the first column is wrapped.
func (g *grid) write(out *printer) {
	over := g.measure() - out.opts.Width
	for ; over > 0 && g.spare > 0; g.spare-- {
		last := len(g.columns) - 1
		over -= g.columns[last].width + gridGap
		g.columns = g.columns[:last]
	}
	if first := &g.columns[0]; over > 0 && first.width > narrow {
		first.width = max(first.width-over, narrow)
	}
	g.line(out, func(i int) string { return g.columns[i].title }, func(int) tone { return muted })
	for _, r := range g.rows {
		g.row(out, r)
	}
}

// gridGap is the number of blanks between columns.
const gridGap = 2

// measure gives the columns their widths and returns that of the whole.
func (g *grid) measure() int {
	total := -gridGap
	for i := range g.columns {
		c := &g.columns[i]
		c.width = wide(c.title)
		for _, r := range g.rows {
			c.width = max(c.width, wide(clean(r.texts[i])))
		}
		total += c.width + gridGap
	}
	return total
}

func (g *grid) row(out *printer, r gridRow) {
	lines := wrap(clean(r.texts[0]), g.columns[0].width)
	for _, head := range lines[:len(lines)-1] {
		out.line(cell{text: head})
	}
	g.line(out, func(i int) string {
		if i == 0 {
			return lines[len(lines)-1]
		}
		return r.texts[i]
	}, func(i int) tone {
		if g.columns[i].title == verdictTitle {
			return r.tone
		}
		return plain
	})
}

func (g *grid) line(out *printer, text func(int) string, tone func(int) tone) {
	var cells []cell
	for i, c := range g.columns {
		if i > 0 {
			cells = append(cells, cell{width: gridGap})
		}
		cells = append(cells, cell{text: text(i), width: c.width, right: c.right, tone: tone(i)})
	}
	out.line(cells...)
}

// nameIn is deployment/web, with its namespace in front where several are at hand.
func nameIn(at trace.Ref, all []trace.Ref) string {
	name := strings.ToLower(at.Kind) + "/" + at.Name
	for _, other := range all {
		if other.Namespace != at.Namespace {
			return at.Namespace + "  " + name
		}
	}
	return name
}
