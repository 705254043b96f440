package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// hold is a pause of our own: of --pause-at.
type hold struct {
	on, over bool
	// It ends with a line on keys, or after a time; the other is nil.
	keys  <-chan string
	after <-chan time.Time
}

// pauseAt pauses once enough new pods are available.
func (s *session) pauseAt(ctx context.Context, snapshot *live.Snapshot) {
	if !s.PauseAt.Given || s.hold.on || s.hold.over {
		return
	}
	available, desired := int32(0), int32(0)
	for _, d := range snapshot.Deployments {
		available += snapshot.NewAvailable(trace.Ref{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name})
		desired += rollout.Desired(d)
	}
	wanted := s.PauseAt.Of(desired)
	if desired == 0 || available < wanted || available >= desired && wanted < desired {
		return
	}
	if err := s.each(ctx, change.Set{Pause: true}); err != nil {
		s.screen.problem(fmt.Errorf("pausing: %w", err))
		s.hold.over = true
		return
	}
	s.hold.on = true
	how := "press Enter to go on"
	if s.ResumeAfter > 0 {
		how, s.hold.after = "it goes on after "+s.ResumeAfter.String(), time.After(s.ResumeAfter)
	} else {
		s.hold.keys = s.lines()
	}
	s.screen.note("paused", fmt.Sprintf("%d of %d new pods are available (--pause-at %s): the template is rolled out no further, "+
		"while a change of replicas would be shared among old and new pods in proportion; %s", available, desired, s.PauseAt, how))
}

// pressed goes on after a key, and says how to where no key can be pressed any more.
func (s *session) pressed(ctx context.Context, pressed bool) {
	if pressed {
		s.unpause(ctx)
		return
	}
	s.hold.keys = nil
	s.screen.note("paused", "standard input has ended, so that no key can be pressed. To go on: "+s.toResume())
}

// tryAgain is when to resume where that failed.
const tryAgain = 5 * time.Second

// unpause goes on after a pause of our own.
func (s *session) unpause(ctx context.Context) {
	if err := s.each(ctx, change.Set{Resume: true}); err != nil {
		s.screen.problem(fmt.Errorf("resuming: %w", err))
		if s.ResumeAfter > 0 {
			s.hold.after = time.After(tryAgain)
		}
		return
	}
	s.hold = hold{over: true}
}

// resumed ends our pause where somebody else has.
func (s *session) resumed(snapshot *live.Snapshot) {
	if !s.hold.on {
		return
	}
	for _, d := range snapshot.Deployments {
		if d.Spec.Paused || s.follower.Lags(d) {
			return
		}
	}
	s.hold = hold{over: true}
}

// toResume is how people go on by themselves.
func (s *session) toResume() string {
	var commands []string
	for _, at := range s.workloads {
		if at.Kind == "Deployment" {
			commands = append(commands, "kubectl rollout resume "+named(at)+" -n "+at.Namespace)
		}
	}
	return strings.Join(commands, "; ")
}
