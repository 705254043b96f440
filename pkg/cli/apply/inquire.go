package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
)

// inquiry is the question of --driver=auto, asked from the change on: does
// somebody else run the controllers? The rollout is followed meanwhile, which
// does no harm whatever the answer is; driving it beside somebody else would.
type inquiry struct {
	began   time.Time
	answers <-chan error // one, of live.CheckVacant, once there is one that stands
	answer  error
	known   bool
	stop    context.CancelFunc
}

// choice is what becomes of an inquiry.
type choice string

const (
	undecided choice = "undecided"
	followed  choice = "followed" // somebody else acts
	watched   choice = "watched"  // nobody is seen to act, and whether somebody will is not for the user to know
	driven    choice = "driven"   // nobody acts, so this process does
)

const (
	// idleness is how long a controller is waited for to look at the change.
	idleness = 3 * time.Second
	// askLimit is how long one answer is waited for, askAgain when to ask again
	// after none.
	askLimit = 10 * time.Second
	askAgain = time.Second
)

// inquire begins to ask.
func (s *session) inquire(ctx context.Context) error {
	if s.Driver != driverAuto {
		return nil
	}
	config, err := s.Getter.ToRESTConfig()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	answers := make(chan error, 1)
	go func() {
		answers <- untilAnswered(ctx, func(ctx context.Context) error { return s.checkVacant(ctx, config) }, s.screen.problem)
	}()
	s.inquiry = &inquiry{began: time.Now(), answers: answers, stop: stop}
	return nil
}

// checkVacant is live.CheckVacant for each namespace.
func (s *session) checkVacant(ctx context.Context, config *rest.Config) error {
	for _, ns := range s.namespaces() {
		if err := live.CheckVacant(ctx, config, ns); err != nil {
			return err
		}
	}
	return nil
}

// untilAnswered asks until there is an answer that stands, and tells why there
// was none before.
func untilAnswered(ctx context.Context, ask func(context.Context) error, tell func(error)) error {
	for {
		asking, cancel := context.WithTimeout(ctx, askLimit)
		err := ask(asking)
		cancel()
		if ctx.Err() != nil || stands(err) {
			return err
		}
		tell(fmt.Errorf("whether another Deployment controller is at work cannot be told yet: %w; until then the rollout is only followed", err))
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stands says that asking again would bring the same answer: what a server does
// not allow it will not allow in a second either, while all other failures may pass.
func stands(err error) bool {
	var occupied *live.OccupiedError
	return err == nil || errors.As(err, &occupied) || apierrors.IsForbidden(err)
}

// choose weighs the answer, whether somebody else has looked at the change, and
// how long ago it was made.
func (q *inquiry) choose(observed bool, since time.Duration) choice {
	var occupied *live.OccupiedError
	switch {
	case observed, q.known && errors.As(q.answer, &occupied):
		return followed
	case !q.known, since < idleness:
		return undecided
	case q.answer != nil:
		return watched
	}
	return driven
}

// decide acts on the answer as soon as there is one.
func (s *session) decide(ctx context.Context) error {
	q := s.inquiry
	if q == nil {
		return nil
	}
	if !q.known {
		select {
		case q.answer = <-q.answers:
			q.known = true
		default:
		}
	}
	switch q.choose(s.observed(), time.Since(q.began)) {
	case undecided:
		return nil
	case watched:
		s.screen.problem(fmt.Errorf("nobody has looked at the change within %s, and whether another Deployment controller is at work cannot be told: %w; "+
			"the rollout is only followed: pass --driver=embedded --force if you know that there is none", idleness, q.answer))
	case driven:
		s.endInquiry()
		return s.startDriving(ctx)
	}
	s.endInquiry()
	return nil
}

func (s *session) endInquiry() {
	if s.inquiry != nil {
		s.inquiry.stop()
		s.inquiry = nil
	}
}

// observed says whether somebody else's controller has seen each workload as it is now.
func (s *session) observed() bool {
	for _, at := range s.workloads {
		if !s.follower.Observed(at) {
			return false
		}
	}
	return true
}
