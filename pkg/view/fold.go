package view

import (
	"fmt"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// waveGap is how far apart two steps of one wave may be. Pods of one batch
// become ready some milliseconds apart, and each may move the ReplicaSets.
const waveGap = time.Second

// folded are the rows with waves and long stretches of like pods folded.
func (s *section) folded() []row {
	rows := s.rows()
	if s.opts.Detail < trace.Syncs {
		rows = foldWaves(rows)
	}
	return foldPods(rows, s.opts.MaxPodLines)
}

// wave is consecutive scalings of one ReplicaSet in one direction.
type wave struct {
	first int // index of its row
	last  time.Duration
	steps int
	from  int32
}

// foldWaves turns the steps of a wave into its first row. Steps of old and new
// ReplicaSets may alternate; a decision of another kind ends all waves.
func foldWaves(rows []row) []row {
	var out []row
	open := map[string]*wave{}
	for _, line := range rows {
		if line.bound {
			clear(open)
		}
		if line.wave == nil {
			out = append(out, line)
			continue
		}
		w := open[line.wave.set]
		if w == nil || line.at-w.last >= waveGap || out[w.first].wave.up() != line.wave.up() {
			open[line.wave.set] = &wave{first: len(out), last: line.at, steps: 1, from: line.wave.from}
			out = append(out, line)
			continue
		}
		w.last, w.steps = line.at, w.steps+1
		first := &out[w.first]
		first.what = fmt.Sprintf("scale %s %d -> %d in %d steps", line.wave.set, w.from, line.wave.to, w.steps)
		first.because = fmt.Sprintf("until %s; last %s", clock(line.at), line.because)
		first.counts, first.wave = line.counts, &step{line.wave.set, w.from, line.wave.to}
	}
	return out
}

// foldPods keeps, between two rows of other kinds, at most limit like lines
// about pods or nodes; the rest becomes one line where they went on.
func foldPods(rows []row, limit int) []row {
	var out []row
	for len(rows) > 0 {
		n := 0
		for n < len(rows) && rows[n].pods != nil && (n == 0 || !rows[n].turn || rows[n-1].turn) {
			n++
		}
		out = append(out, foldStretch(rows[:n], limit)...)
		if n < len(rows) && rows[n].pods == nil {
			out = append(out, rows[n])
			n++
		}
		rows = rows[n:]
	}
	return out
}

// limit is how many lines are kept. A refusal says the same each time.
func (l like) limit(limit int) int {
	if l.verb == "refused" || l.verb == keeps {
		return 1
	}
	return limit
}

func foldStretch(rows []row, limit int) []row {
	total, seen := map[like]int{}, map[like]int{}
	folds := map[like]int{} // index of the folding row
	for _, line := range rows {
		total[*line.pods]++
	}
	var out []row
	for _, line := range rows {
		key := *line.pods
		limit := key.limit(limit)
		seen[key]++
		switch at, folding := folds[key]; {
		case total[key] <= limit+1 || seen[key] <= limit:
			out = append(out, line)
		case !folding:
			line.what, line.because = key.folded(total[key]-limit), ""
			folds[key] = len(out)
			out = append(out, line)
		default:
			if line.at > out[at].at {
				out[at].because = "until " + clock(line.at)
			}
			if line.counts != nil {
				out[at].counts = line.counts
			}
		}
	}
	return out
}

// folded words a row that stands for n lines.
func (l like) folded(n int) string {
	if l.nodes {
		return fmt.Sprintf("%s: %d more nodes", l.verb, n)
	}
	of := ""
	if l.set != "" {
		of = " of " + l.set
	}
	if l.verb == "refused" {
		return fmt.Sprintf("refused a pod%s %d times more", of, n)
	}
	return fmt.Sprintf("%s %d more pods%s", l.verb, n, of)
}
