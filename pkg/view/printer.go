package view

import (
	"io"
	"strings"
)

// printer writes lines of cells. It cleans every text, pads, colours and keeps
// the first error; no line ends in a space.
type printer struct {
	w     io.Writer
	theme theme
	opts  Options
	err   error
}

func newPrinter(w io.Writer, opts Options) *printer {
	if opts.Width <= 0 {
		opts.Width = DefaultWidth
	}
	if opts.MaxPodLines <= 0 {
		opts.MaxPodLines = DefaultMaxPodLines
	}
	return &printer{w: w, theme: newTheme(w, opts.Color), opts: opts}
}

// cell is a text in a column. Width 0 takes what the text takes.
type cell struct {
	text  string
	width int
	right bool
	tone  tone
}

func (p *printer) blank() { p.write("\n") }

func (p *printer) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// line writes cells one after the other; the gaps between them are cells too.
func (p *printer) line(cells ...cell) {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1].text) == "" {
		cells = cells[:len(cells)-1]
	}
	var b strings.Builder
	for i, c := range cells {
		text := clean(c.text)
		pad := strings.Repeat(" ", max(0, c.width-wide(text)))
		switch {
		case c.right:
			b.WriteString(pad + p.theme.paint(c.tone, text))
		case i == len(cells)-1:
			b.WriteString(p.theme.paint(c.tone, text))
		default:
			b.WriteString(p.theme.paint(c.tone, text) + pad)
		}
	}
	p.write(b.String() + "\n")
}

// labelled writes a label in a column of its own and wraps text beside it.
func (p *printer) labelled(label string, column int, tone tone, text string) {
	for i, part := range wrap(clean(text), p.opts.Width-column) {
		if i > 0 {
			label = ""
		}
		p.line(cell{text: label, width: column, tone: muted}, cell{text: part, tone: tone})
	}
}

// parts writes parts side by side, as many to a line as fit, the later lines indented.
func (p *printer) parts(label string, column int, gap string, parts []string) {
	line := ""
	flush := func() {
		p.labelled(label, column, plain, line)
		label, line = "", ""
	}
	for _, part := range parts {
		part = clean(part)
		if line != "" && column+wide(line)+wide(gap)+wide(part) > p.opts.Width {
			flush()
		}
		if line == "" {
			line = strings.TrimLeft(part, " ")
		} else {
			line += gap + part
		}
	}
	if line != "" {
		flush()
	}
}
