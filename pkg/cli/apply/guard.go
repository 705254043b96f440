package apply

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// patience is how long trouble that may pass is let stand while nothing moves.
const patience = 10 * time.Second

// failing gives up on what waiting does not heal.
func (s *session) failing(snapshot *live.Snapshot) *ending {
	if !s.FailFast {
		return nil
	}
	now := map[string]time.Time{}
	for _, at := range s.workloads {
		for _, t := range snapshot.Troubles(at, s.Restarts) {
			key := t.Type + " " + at.String()
			since, known := s.standing[key]
			if !known {
				since = time.Now()
			}
			now[key] = since
			if t.Lasting || time.Since(since) > patience && time.Since(s.moved) > patience {
				return &ending{code: exit.Failed, reason: fmt.Sprintf("%s: %s", named(t.Object), t.Message)}
			}
		}
	}
	s.standing = now
	return nil
}

// weigh notes when the rollout last went on.
func (s *session) weigh(fresh []trace.Event) {
	if slices.ContainsFunc(fresh, goesOn) {
		s.moved = time.Now()
	}
}

// goesOn says that an event is a step of a rollout, be it forth or back. What
// is only tried again, and the Events that tell of it, are none: they come as
// long as the trouble lasts.
func goesOn(e trace.Event) bool {
	switch e.Detail.(type) {
	case trace.Recorded, trace.Rejected, trace.Unschedulable, trace.Held:
		return false
	}
	return true
}

// react is what --on-failure asks for; the answer says what was done. It is
// done after an interrupt, too.
func (s *session) react(ctx context.Context) string {
	var set change.Set
	done := ""
	switch s.OnFailure {
	case failurePause:
		if s.hold.on {
			return "" // it is
		}
		set.Pause, done = true, "paused"
	case failureUndo:
		set.Undo, done = new(int64), "undone"
		set.Resume = s.hold.on // what is paused is not undone
		s.hold.on = false
	default:
		return ""
	}
	text := ""
	for _, at := range s.workloads {
		if at.Kind != "Deployment" || s.follower.Gone(at) {
			continue
		}
		making := context.WithoutCancel(ctx)
		err := s.follower.Making(making, func() error {
			_, err := s.kubectl(kubectl.DryRunNone).Change(making, set, at)
			return err
		})
		if err != nil {
			text += fmt.Sprintf("; %s could not be %s: %v", named(at), done, err)
			continue
		}
		text += fmt.Sprintf("; %s was %s", named(at), done)
	}
	if set.Undo != nil && len(s.drivers) > 0 {
		text += s.seeThrough(ctx)
	}
	return text
}

// seeThrough drives what was undone to its end, since nobody else will; the
// answer says how that went.
func (s *session) seeThrough(ctx context.Context) string {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		snapshot, all := s.follower.Snapshot(), map[string]bool{}
		for _, at := range s.workloads {
			if d, ok := snapshot.Find(at).(*appsv1.Deployment); ok {
				end := rollout.DeploymentEnd(d)
				if s.follower.Lags(d) {
					end = ""
				}
				all[end] = true
			}
		}
		switch end := s.driving(ctx); {
		case end != nil:
			return ", and " + end.reason
		case all[""]:
		case all[rollout.EndDeadline]:
			return ", and its progress deadline has passed again"
		default:
			return ", and that is complete"
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ", and nothing drives that now"
		}
	}
}

// each makes a change to all Deployments.
func (s *session) each(ctx context.Context, set change.Set) error {
	for _, at := range s.workloads {
		if at.Kind != "Deployment" {
			continue
		}
		err := s.follower.Making(ctx, func() error {
			_, err := s.kubectl(kubectl.DryRunNone).Change(ctx, set, at)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// How often the time left is reckoned: on a terminal, whose last line shows it,
// and elsewhere, where each time is a line.
const (
	reckonOften  = 5 * time.Second
	reckonSeldom = 30 * time.Second
)

// reckon simulates from what there is now how long it will take, and says what
// the plan has next.
func (s *session) reckon(ctx context.Context, snapshot *live.Snapshot) {
	if s.screen.live == nil {
		return
	}
	every := reckonSeldom
	if s.screen.redo {
		every = reckonOften
	}
	due := time.Since(s.reckoned) >= every && time.Since(s.started) > time.Second
	if due {
		s.reckoned = time.Now()
		s.left = s.timeLeft(ctx, snapshot)
	}
	events := s.screen.all()
	if len(events) == 0 {
		return
	}
	tl := timeline.Build(events, timeline.Options{Started: s.screen.spec.Started(), Workloads: s.workloads})
	text := s.next(tl)
	if s.left != "" {
		text += "; " + s.left
	}
	switch {
	case s.screen.redo:
		s.screen.foot(tl, time.Since(s.begun), text)
	case due:
		s.screen.note("next", text)
	}
}

func (s *session) next(tl *timeline.Timeline) string {
	step, ok := tl.Next(s.screen.spec.Predicted)
	if !ok {
		return "no step is left of the plan"
	}
	passed := time.Since(s.begun).Seconds()
	when := fmt.Sprintf("planned at %.1fs", step.OffsetSeconds)
	if passed > step.OffsetSeconds+0.5 {
		when += fmt.Sprintf(", %.1fs ago", passed-step.OffsetSeconds)
	}
	return fmt.Sprintf("next %s %d -> %d, %s", step.ReplicaSet.Name, step.From, step.To, when)
}

// timeLeft words what a simulation from here comes to.
func (s *session) timeLeft(ctx context.Context, snapshot *live.Snapshot) string {
	plan, err := s.plan.Continue(ctx, snapshot)
	if err != nil {
		return ""
	}
	took := time.Duration(math.Round(plan.Status.DurationSeconds*10)) * 100 * time.Millisecond
	switch plan.Status.Verdict {
	case v1alpha1.Complete:
		return fmt.Sprintf("about %s left", took)
	case v1alpha1.NothingToDo:
		return "nothing is left to do"
	case v1alpha1.DeadlineExceeded:
		return fmt.Sprintf("from here it misses its deadline in %s", took)
	}
	return "from here it ends as " + string(plan.Status.Verdict)
}
