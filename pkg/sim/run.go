package sim

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var _ engine.Host = &World{}

// goal is a run's end in the making.
type goal struct {
	engine.Goal
	dirty     bool          // a workload was written since the last look
	ends      []string      // how each workload stands; empty means not ended
	lastWrite time.Duration // of anything but Kubernetes Events
	decided   time.Duration // when all workloads had ended; undecided before
}

const undecided = -1

// Words of trace.Ended beside those of pkg/rollout.
const (
	endGone  = "Gone"
	endIdle  = "Idle"
	endLimit = "Limit"
)

// afterLife is how long a run goes on after its end to see old pods out.
const afterLife = 10 * time.Minute

// Run starts the person's change at the present and follows the world until the
// workloads have ended one way or another, nothing is left to wait for, or the limit.
func (w *World) Run(ctx context.Context, g engine.Goal) (engine.Outcome, error) {
	defer w.stopTasks()
	w.goal = &goal{Goal: g, ends: make([]string, len(g.Workloads)), dirty: true, lastWrite: w.loop.now, decided: undecided}
	w.loop.now = 0
	w.emitFound()
	w.start()
	if g.Begin != nil {
		if err := g.Begin(ctx, w.Hand(trace.ActorYou)); err != nil {
			return engine.Outcome{}, err
		}
	}
	why, err := w.follow(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	w.cause = 0
	for _, ref := range g.Workloads {
		w.emit(trace.Event{Actor: trace.ActorWorld, Object: ref, Detail: trace.Ended{Why: why}})
	}
	return engine.Outcome{Why: why, Duration: w.loop.now}, w.check()
}

// check holds the run against what is true of every trace. Check says more, but
// of worlds in which nobody takes a controller's objects out of its hands.
func (w *World) check() error {
	if err := inOrder(w.cfg.Log.All()); err != nil {
		return fmt.Errorf("the simulation broke its own rules, please report this: %w", err)
	}
	return nil
}

// follow runs the loop until there is a word for the end.
func (w *World) follow(ctx context.Context) (string, error) {
	end := w.goal.Limit
	for steps := 0; ; steps++ {
		if steps%1024 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		if why := w.over(); why != "" && !w.goal.WholeLimit {
			return why, nil
		}
		when, ok := w.loop.next()
		if !ok && !w.goal.WholeLimit {
			return endIdle, nil
		}
		if !ok || when > end {
			w.loop.now = end
			return w.atLimit(), nil
		}
		w.step()
	}
}

// atLimit is the word for a run that reached its limit.
func (w *World) atLimit() string {
	if w.goal.WholeLimit && w.settled() {
		return w.worst()
	}
	return endLimit
}

// over says how the run has ended, or nothing.
func (w *World) over() string {
	g := w.goal
	if w.loop.now < g.Until || !g.dirty && g.decided == undecided && w.loop.activity > 0 {
		return ""
	}
	if !w.settled() {
		g.decided = undecided
		if w.loop.activity == 0 && w.loop.now-g.lastWrite > w.patience() {
			return endIdle
		}
		return ""
	}
	if g.decided == undecided {
		g.decided = w.loop.now
	}
	if w.loop.activity == 0 || w.loop.now-g.decided > afterLife {
		return w.worst()
	}
	return ""
}

// settled reports whether every workload has ended.
func (w *World) settled() bool {
	g := w.goal
	if len(g.Workloads) == 0 {
		return w.loop.activity == 0
	}
	if g.dirty {
		g.dirty = false
		for i, ref := range g.Workloads {
			g.ends[i] = w.endOf(ref)
		}
	}
	for _, end := range g.ends {
		if end == "" || end == rollout.EndPaused && w.loop.activity > 0 {
			return false
		}
	}
	return true
}

// worst is the end of the run as a whole.
func (w *World) worst() string {
	for _, end := range []string{rollout.EndDeadline, rollout.EndPaused, endGone} {
		for _, e := range w.goal.ends {
			if e == end {
				return end
			}
		}
	}
	return rollout.EndComplete
}

// patience is how long nothing may be written before the run counts as idle:
// longer than any timer that could still move a workload.
func (w *World) patience() time.Duration {
	seconds := int32(600)
	for _, ref := range w.goal.Workloads {
		if obj, ok := w.workload(ref).(*appsv1.Deployment); ok {
			seconds = max(seconds, obj.Spec.MinReadySeconds)
			if rollout.HasProgressDeadline(obj) {
				seconds = max(seconds, *obj.Spec.ProgressDeadlineSeconds)
			}
		}
	}
	return time.Duration(seconds+60) * time.Second
}

func (w *World) workload(ref trace.Ref) Object {
	resource, _ := Resource(ref.Kind)
	obj, _ := w.store.Get(resource, ref.Namespace, ref.Name)
	return obj
}

// endOf says how a workload stands: complete as kubectl rollout status has it,
// past its deadline, paused with nothing left to scale, or not ended.
func (w *World) endOf(ref trace.Ref) string {
	switch o := w.workload(ref).(type) {
	case *appsv1.Deployment:
		return rollout.DeploymentEnd(o)
	case *appsv1.ReplicaSet:
		return rollout.ReplicaSetEnd(o)
	}
	return endGone
}

// touched notes a write for the run's end.
func (w *World) touched(obj Object) {
	if w.goal == nil {
		return
	}
	w.goal.lastWrite = w.loop.now
	switch obj.(type) {
	case *appsv1.Deployment, *appsv1.ReplicaSet:
		w.goal.dirty = true
	}
}
