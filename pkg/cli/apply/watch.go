package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// session is a rollout while it is followed.
type session struct {
	*job
	screen    *screen
	follower  *live.Follower
	inquiry   *inquiry  // who acts, as long as that is to be found out
	drivers   []*driver // of each namespace, when this process drives
	workloads []trace.Ref

	begun    time.Time // time zero of the trace
	started  time.Time // watching
	moved    time.Time // the rollout last went on
	reckoned time.Time // the time left was last estimated
	left     string
	seen     int // events looked at
	hold     hold
	standing map[string]time.Time    // trouble, since when
	lost     map[trace.Ref]time.Time // workloads that were deleted, since when
}

// ending is why a session ends.
type ending struct {
	why    string // of trace.Ended; empty when it was cut short
	code   exit.Code
	reason string // for people; empty when it went well
}

// How often people are shown what is new, how long pods may lag behind the
// statuses of an end, at most where there is no end of news, and how long a
// pause must be quiet to be one.
const (
	refresh  = 200 * time.Millisecond
	lag      = 600 * time.Millisecond
	lagLimit = 3 * time.Second
	quiet    = 3 * time.Second
)

// watch follows the rollout until it has ended one way or another.
func (s *session) watch(ctx context.Context) ending {
	s.started, s.moved = time.Now(), time.Now()
	s.standing, s.lost = map[string]time.Time{}, map[trace.Ref]time.Time{}
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	var timeout <-chan time.Time
	if s.Timeout > 0 {
		timeout = time.After(s.Timeout)
	}
	for {
		select {
		case <-ctx.Done():
			return ending{code: exit.Failure, reason: "interrupted"}
		case <-timeout:
			return ending{why: "Limit", code: exit.Failed, reason: fmt.Sprintf("it is not complete after %s (--timeout)", s.Timeout)}
		case <-s.follower.Changed():
		case _, pressed := <-s.hold.keys:
			s.pressed(ctx, pressed)
		case <-s.hold.after:
			s.unpause(ctx)
		case <-tick.C:
		}
		if end := s.look(ctx); end != nil {
			return *end
		}
	}
}

// look is one look at everything: shown, guarded and judged.
func (s *session) look(ctx context.Context) *ending {
	if err := s.screen.update(); err != nil {
		return &ending{code: exit.Failure, reason: "showing it: " + err.Error()}
	}
	if err := s.decide(ctx); err != nil {
		return &ending{code: exit.Failure, reason: "this process cannot drive it: " + err.Error()}
	}
	if end := s.driving(ctx); end != nil {
		return end
	}
	snapshot := s.follower.Snapshot()
	fresh := s.screen.since(s.seen)
	s.seen += len(fresh)
	s.weigh(fresh)
	if end := s.diverged(fresh); end != nil {
		return end
	}
	if end := s.ended(snapshot); end != nil {
		return end
	}
	if end := s.failing(snapshot); end != nil {
		return end
	}
	s.resumed(snapshot)
	s.pauseAt(ctx, snapshot)
	s.reckon(ctx, snapshot)
	return nil
}

// ended judges how the workloads stand; nil while one goes on.
func (s *session) ended(snapshot *live.Snapshot) *ending {
	ends := map[string][]string{}
	for _, at := range s.workloads {
		end := s.endOf(snapshot, at)
		if end == "" {
			return nil
		}
		ends[end] = append(ends[end], named(at))
	}
	switch {
	case len(ends["Gone"]) > 0:
		return &ending{why: "Gone", code: exit.Failed, reason: strings.Join(ends["Gone"], ", ") + " was deleted"}
	case len(ends[rollout.EndDeadline]) > 0:
		return &ending{why: rollout.EndDeadline, code: exit.Failed, reason: "its progress deadline has passed"}
	case len(ends[rollout.EndPaused]) > 0:
		return &ending{why: rollout.EndPaused}
	}
	return &ending{why: rollout.EndComplete}
}

func (s *session) endOf(snapshot *live.Snapshot, at trace.Ref) string {
	end := ""
	switch obj := snapshot.Find(at).(type) {
	case *appsv1.Deployment:
		if s.follower.Lags(obj) {
			return ""
		}
		end = rollout.DeploymentEnd(obj)
	case *appsv1.ReplicaSet:
		if s.follower.Lags(obj) {
			return ""
		}
		end = rollout.ReplicaSetEnd(obj)
	default:
		return s.gone(at)
	}
	delete(s.lost, at)
	if end == rollout.EndPaused && !s.pausedForGood() {
		return ""
	}
	return end
}

// mourning is how long the remains of a deleted workload are followed at most.
const mourning = time.Minute

// gone is the end of a workload that was deleted: once nothing moves of what it
// left, unless it is made anew by then.
func (s *session) gone(at trace.Ref) string {
	if !s.follower.Gone(at) {
		return ""
	}
	since, known := s.lost[at]
	if !known {
		since = time.Now()
		s.lost[at] = since
		s.screen.note("note", named(at)+" was deleted meanwhile: what it left is followed to its end")
	}
	if time.Since(s.moved) < quiet && time.Since(since) < mourning {
		return ""
	}
	return "Gone"
}

// pausedForGood says that a pause is what was asked for, and that nothing goes
// on any more. One of our own, or somebody else's mid-way, is waited out.
func (s *session) pausedForGood() bool {
	return s.plan.Plan.Status.Verdict == v1alpha1.Paused && time.Since(s.moved) > quiet
}

// diverged looks at what is new for what was not planned.
func (s *session) diverged(fresh []trace.Event) *ending {
	for _, e := range fresh {
		what := ""
		switch d := e.Detail.(type) {
		case trace.Budgeted:
			if d.Rule == trace.Unexplained {
				what = fmt.Sprintf("%s was sized to %d, which the controllers' logic does not give", named(e.Object), d.Result)
			}
		case trace.Changed:
			if e.Actor != trace.ActorYou {
				what = fmt.Sprintf("%s was changed by %s meanwhile (%s)", named(e.Object), e.Actor, d.Verb)
				s.screen.note("note", what+": it is followed as it is now")
			}
		}
		if what != "" && s.FailOnDivergence {
			return &ending{code: exit.Diverged, reason: what}
		}
	}
	return nil
}

// finish closes the trace, shows the result and acts on a failure.
func (s *session) finish(ctx context.Context, end ending) error {
	if ctx.Err() == nil {
		s.settle()
	}
	if end.code == exit.Done && s.FailOnDivergence {
		if verdict := timeline.NewPlan(s.screen.spec, s.screen.all()).Status.Verdict; end.why == rollout.EndComplete && s.plan.Plan.Status.Verdict.WorseThan(v1alpha1.Complete) {
			end.code, end.reason = exit.Diverged, fmt.Sprintf("it ended as %s, planned was %s", verdict, s.plan.Plan.Status.Verdict)
		}
	}
	s.follower.End(end.why) // what was asked for, without what follows from a failure
	if end.code == exit.Failed || end.code == exit.Diverged {
		end.reason += s.react(ctx)
	}
	if s.hold.on {
		end.reason += "; it stays paused: " + s.toResume()
	}
	s.follower.Close()
	plan, err := s.screen.finish()
	if err == nil {
		err = s.Pictures.Write(plan)
	}
	if err != nil && end.code != exit.Done {
		s.screen.problem(err)
	}
	switch {
	case end.code == exit.Failure && ctx.Err() != nil:
		return &exit.Error{Code: exit.Failure, Message: s.goesOn()}
	case end.code != exit.Done:
		return &exit.Error{Code: end.code, Message: fmt.Sprintf("the rollout of %s %s: %s", s.names(), words[end.code], end.reason)}
	}
	return err
}

// settle waits for the pods of an end, which lag a little behind the statuses,
// and for what watches have brought of them.
func (s *session) settle() {
	began := time.Now()
	for time.Sleep(lag); !s.follower.Settled() && time.Since(began) < lagLimit; {
		time.Sleep(refresh / 4)
	}
}

var words = map[exit.Code]string{exit.Failure: "is no longer followed", exit.Failed: "failed", exit.Diverged: "left the plan"}

func (s *session) names() string {
	var all []string
	for _, at := range s.workloads {
		all = append(all, named(at))
	}
	return strings.Join(all, ", ")
}

// goesOn is said to who stops watching.
func (s *session) goesOn() string {
	var again, drive []string
	for _, ns := range s.namespaces() {
		command := "kubectl rollout-sim plan"
		for _, at := range s.workloads {
			if at.Namespace == ns {
				command += " " + named(at)
			}
		}
		again = append(again, command+" -n "+ns)
		drive = append(drive, "kubectl rollout-sim controllers -n "+ns)
	}
	look := "to look again: " + strings.Join(again, "; ")
	switch {
	case len(s.drivers) > 0:
		return "stopped; nothing drives the rollout now. To go on: " + strings.Join(drive, "; ") + "; " + look
	case s.hold.on:
		return "stopped watching; the rollout stays paused. To go on: " + s.toResume() + "; " + look
	}
	return "stopped watching; the rollout goes on. T" + look[1:]
}

func named(at trace.Ref) string { return strings.ToLower(at.Kind) + "/" + at.Name }
