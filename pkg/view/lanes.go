package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
)

// Place is the room for lanes, and the moment that they show.
type Place struct {
	Width, Height int           // columns and lines
	Now           time.Duration // since the start
}

// states are a pod's, with their marks in a lane and their tones, the best first.
var states = []struct {
	state timeline.State
	mark  string
	tone  tone
}{
	{timeline.Available, "█", good}, {timeline.Ready, "▓", good}, {timeline.Running, "▒", plain},
	{timeline.Pending, "·", muted}, {timeline.Terminating, "-", muted}, {timeline.Ended, "x", bad},
}

// Lanes are lines that say where a real rollout stands: how many pods are
// available, and then each pod with its states since the start. Where there are
// more pods than lines, it is their number in each state by ReplicaSet.
func (l *Live) Lanes(tl *timeline.Timeline, at Place) []string {
	var b strings.Builder
	out := &printer{w: &b, theme: l.out.theme, opts: l.out.opts}
	out.opts.Width = max(at.Width-1, 20) // the last column makes some terminals wrap
	d := lanes{out: out, tl: tl, at: at}
	d.summary()
	if pods := d.pods(); len(pods)+len(tl.Workloads) <= at.Height {
		name := 0
		for _, p := range pods {
			name = max(name, wide(clean(p.Object.Name)))
		}
		for _, p := range pods {
			d.pod(p, min(name, out.opts.Width/3))
		}
	} else {
		d.sets()
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if rest := len(lines) - at.Height; at.Height > 0 && rest > 0 {
		lines = append(lines[:at.Height-1], l.Muted(fmt.Sprintf("     and %d lines more", rest+1), at.Width))
	}
	return lines
}

// lanes is a drawing of them.
type lanes struct {
	out *printer
	tl  *timeline.Timeline
	at  Place
}

// lanePod is a pod that is there, and whether its template is the current one.
type lanePod struct {
	*timeline.Pod
	current bool
}

// pods are those that are there, old ones first, in the order in which they came up.
func (d *lanes) pods() []lanePod {
	var out []lanePod
	for _, w := range d.tl.Workloads {
		of := len(out)
		for _, p := range w.Pods {
			if p.State() != timeline.Gone && p.Set != nil {
				out = append(out, lanePod{p, w.Bare() || w.IsNew(p.Set.Object.Name)})
			}
		}
		slices.SortStableFunc(out[of:], func(a, b lanePod) int { return order(a.current) - order(b.current) })
	}
	return out
}

func order(current bool) int {
	if current {
		return 1
	}
	return 0
}

// summary is a line for each workload.
func (d *lanes) summary() {
	for _, w := range d.tl.Workloads {
		c := w.At(max(d.at.Now, d.tl.End))
		tone := good
		if c.Available < c.Needed {
			tone = bad
		}
		text := fmt.Sprintf("available %d/%d", c.Available, c.Needed)
		rest := fmt.Sprintf("  %s, %d new, %d terminating", count(c.Active, "pod"), c.Updated, c.Terminating)
		d.line(cell{text: "now", width: 5, tone: strong}, cell{text: named(w.Object) + "  "}, cell{text: text, tone: tone}, cell{text: rest},
			cell{text: "  " + brief(max(0, d.at.Now).Truncate(100*time.Millisecond).Seconds()), tone: muted})
	}
}

// line writes cells as far as they fit.
func (d *lanes) line(cells ...cell) {
	left := d.out.opts.Width
	for i := range cells {
		c := &cells[i]
		c.text = clean(c.text)
		if wide(c.text) > left {
			c.text = cut(c.text, max(left, 1))
			cells = cells[:i+1]
			if left < 1 {
				cells = cells[:i]
			}
			break
		}
		left -= max(c.width, wide(c.text))
	}
	d.out.line(cells...)
}

// side says whose pods they are.
func side(current bool) cell {
	if current {
		return cell{text: "new", width: 5, tone: fresh}
	}
	return cell{text: "old", width: 5, tone: stale}
}

// Widths of the columns of a pod's line.
const (
	stateWidth = 13
	sinceWidth = 7
	leastLane  = 10
)

// pod is a pod's line, its name in so many columns.
func (d *lanes) pod(p lanePod, name int) {
	cells := []cell{side(p.current), {text: cut(clean(p.Object.Name), name), width: name + 2}}
	if d.out.opts.Width >= reasonsBeside-1 {
		cells = append(cells, cell{text: cut(clean(p.Node)+" ", 14), width: 16, tone: muted})
	}
	word, tone := condition(p.Pod)
	since := brief(max(0, d.at.Now-max(0, p.Since())).Truncate(100 * time.Millisecond).Seconds())
	cells = append(cells, cell{text: cut(clean(word), stateWidth-1), width: stateWidth, tone: tone}, cell{text: since, width: sinceWidth, right: true, tone: muted})
	used := 2
	for _, c := range cells {
		used += c.width
	}
	if room := d.out.opts.Width - used; room >= leastLane {
		cells = append(cells, cell{text: "  "})
		cells = append(cells, d.lane(p.Pod, room)...)
	}
	d.line(cells...)
}

// condition is a pod's state in a word, or what troubles it.
func condition(p *timeline.Pod) (string, tone) {
	state := p.State()
	switch {
	case (state == timeline.Pending || state == timeline.Running) && p.Trouble != "":
		return p.Trouble, bad
	case state == timeline.Pending && p.Unschedulable != nil:
		return "no node", bad
	}
	for _, s := range states {
		if s.state == state {
			return strings.ToLower(string(state)), s.tone
		}
	}
	return strings.ToLower(string(state)), plain
}

// lane is a pod's states from the start until now, each column an equal part of
// the time with the state at its end.
func (d *lanes) lane(p *timeline.Pod, columns int) []cell {
	var out []cell
	for i := range columns {
		until := d.at.Now * time.Duration(i+1) / time.Duration(columns)
		out = appendMark(out, stateAt(p, until), 1)
	}
	return out
}

// stateAt is a pod's state at a time; empty before it came up.
func stateAt(p *timeline.Pod, at time.Duration) timeline.State {
	state := timeline.State("")
	for _, l := range p.Lane {
		if l.At > at {
			break
		}
		state = l.State
	}
	return state
}

// appendMark appends n marks of a state to a bar, those alike in one cell.
func appendMark(bar []cell, state timeline.State, n int) []cell {
	mark, tone := " ", plain
	for _, s := range states {
		if s.state == state {
			mark, tone = s.mark, s.tone
		}
	}
	text := strings.Repeat(mark, n)
	if last := len(bar) - 1; last >= 0 && strings.HasSuffix(bar[last].text, mark) {
		bar[last].text += text
		return bar
	}
	return append(bar, cell{text: text, tone: tone})
}

// sets is a line for each ReplicaSet that has pods, or is to have some.
func (d *lanes) sets() {
	counted := map[*timeline.Set]map[timeline.State]int{}
	most := 1
	for _, w := range d.tl.Workloads {
		for _, s := range w.Sets {
			counted[s] = map[timeline.State]int{}
			most = max(most, int(s.Now()))
		}
		for _, p := range w.Pods {
			if of := counted[p.Set]; of != nil && p.State() != timeline.Gone {
				of[p.State()]++
			}
		}
	}
	name := 0
	for s, of := range counted {
		name = max(name, wide(clean(s.Object.Name)))
		all := 0
		for _, n := range of {
			all += n
		}
		most = max(most, all)
	}
	for _, w := range d.tl.Workloads {
		for _, s := range w.Sets {
			if of := counted[s]; s.Now() > 0 || len(of) > 0 {
				d.set(s, of, w.Bare() || w.IsNew(s.Object.Name), name, most)
			}
		}
	}
}

// set is a ReplicaSet's line: its size, a bar of its pods, of which the most
// that any has fill it, and their numbers.
func (d *lanes) set(s *timeline.Set, of map[timeline.State]int, current bool, name, most int) {
	name = min(name, d.out.opts.Width/3)
	digits := len(fmt.Sprint(most))
	cells := []cell{side(current), {text: cut(clean(s.Object.Name), name), width: name + 2},
		{text: fmt.Sprint(s.Now()), width: digits, right: true}, {text: "  "}}
	columns := max(d.out.opts.Width/4, leastLane)
	var words []string
	done, drawn := 0, 0
	for _, state := range states {
		n := of[state.state]
		if n == 0 {
			continue
		}
		done += n
		until := (done*columns + most - 1) / most // a single pod shows
		cells = appendMark(cells, state.state, max(0, until-drawn))
		drawn = max(drawn, until)
		words = append(words, fmt.Sprintf("%d %s", n, strings.ToLower(string(state.state))))
	}
	cells = append(cells, cell{text: strings.Repeat(" ", max(0, columns-drawn)+2)}, cell{text: strings.Join(words, ", "), tone: muted})
	d.line(cells...)
}
