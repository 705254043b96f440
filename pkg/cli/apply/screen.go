package apply

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// screen is where the trace goes: to people as rows, to programs as lines, and
// into a recording.
type screen struct {
	job  *job
	live *view.Live // nil for programs
	redo bool       // a terminal, whose last lines may be written again

	mu     sync.Mutex
	spec   v1alpha1.RolloutPlanSpec
	events []trace.Event
	record *os.File
	lines  []io.Writer // for JSON lines
	failed error       // the first failure to write
	told   map[string]bool
	untold []string // warnings to come
}

func (j *job) newScreen() (*screen, error) {
	s := &screen{job: j, told: map[string]bool{}}
	if j.Record != "" {
		file, err := os.OpenFile(j.Record, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, err
		}
		s.record = file
		s.lines = append(s.lines, file)
	}
	if j.Format == "jsonl" {
		s.lines = append(s.lines, j.Out)
	}
	s.redo = isTerminal(j.Out) && os.Getenv("TERM") != "dumb"
	return s, nil
}

// began writes the header; what was found before is part of it.
func (s *screen) began(spec v1alpha1.RolloutPlanSpec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spec = spec
	for _, w := range s.lines {
		s.keep(view.Header(w, spec))
		for _, e := range s.events {
			s.keep(view.Line(w, e))
		}
	}
	if s.job.people {
		options, err := s.job.ViewOptions(s.job.Out)
		s.keep(err)
		s.live = view.NewLive(s.job.Out, spec, options)
	}
}

// keep keeps the first failure.
func (s *screen) keep(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

// take keeps an event, and passes it on to those who read lines.
func (s *screen) take(e trace.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	if s.spec.StartTime == nil {
		return
	}
	for _, w := range s.lines {
		s.keep(view.Line(w, e))
	}
}

// all are the events so far.
func (s *screen) all() []trace.Event { return s.since(0) }

// since is the trace but for its first n events.
func (s *screen) since(n int) []trace.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events[n:])
}

// update shows people what is new.
func (s *screen) update() error {
	s.warn()
	events := s.all()
	if s.live != nil {
		return s.live.Update(events)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// note says something to people that is no part of the trace.
func (s *screen) note(label, text string) {
	if s.live != nil {
		_ = s.live.Note(label, text) // the next row tells of a failure
	}
}

// problem warns with the next update, of the same only once.
func (s *screen) problem(err error) {
	text := manifest.Printable(err.Error())
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told[text] {
		s.told[text] = true
		s.untold = append(s.untold, text)
	}
}

// mostLanes is how many lines the lanes take at most, on a terminal of any height.
const mostLanes = 20

// foot shows at the bottom of a terminal where the rollout stands, and what
// comes next.
func (s *screen) foot(tl *timeline.Timeline, now time.Duration, next string) {
	width, height := s.size()
	lines := s.live.Lanes(tl, view.Place{Width: width, Height: min(max(height/2, 3), mostLanes), Now: now})
	_ = s.live.Foot(append(lines, s.live.Muted(next, width)), width) // the next row tells of a failure
}

// size is that of the terminal as it is now, no wider than asked for.
func (s *screen) size() (width, height int) {
	if file, ok := s.job.Out.(*os.File); ok {
		width, height, _ = term.GetSize(int(file.Fd())) // zeroes mean that it does not know
	}
	if width <= 0 {
		width = view.DefaultWidth
	}
	if height <= 0 {
		height = 24
	}
	if s.job.Width > 0 {
		width = min(width, s.job.Width)
	}
	return width, height
}

// warn prints the warnings, where the last line of a terminal was.
func (s *screen) warn() {
	s.mu.Lock()
	list := s.untold
	s.untold = nil
	s.mu.Unlock()
	if len(list) > 0 && s.live != nil {
		_ = s.live.Foot(nil, 0) // the next row tells of a failure
	}
	for _, text := range list {
		fmt.Fprintf(s.job.ErrOut, "warning: %s\n", text)
	}
}

// finish shows what became of it all.
func (s *screen) finish() (*v1alpha1.RolloutPlan, error) {
	plan := timeline.NewPlan(s.spec, s.all())
	s.mu.Lock()
	for _, w := range s.lines {
		s.keep(view.Result(w, plan))
	}
	s.mu.Unlock()
	switch {
	case s.live != nil:
		if err := s.update(); err != nil {
			return plan, err
		}
		if err := s.live.Finish(plan); err != nil {
			return plan, err
		}
		options, err := s.job.ViewOptions(s.job.Out)
		if err != nil {
			return plan, err
		}
		return plan, s.job.Pictures.Draw(s.job.Out, plan, options)
	case s.job.Format != "jsonl":
		return plan, s.job.show(s.job.Out, plan)
	}
	return plan, s.failed
}

func (s *screen) close() {
	s.warn()
	if s.record != nil {
		if err := s.record.Close(); err != nil {
			fmt.Fprintf(s.job.ErrOut, "warning: writing %s: %v\n", s.job.Record, err)
		}
	}
}
