package sim

import (
	"context"
	"iter"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// task is one coroutine: a controller's pass, or one call of its fan-out. It
// runs until it parks to wait for virtual time; the loop resumes it. Only one
// task runs at any moment, so nothing here needs a lock.
type task struct {
	world  *World
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool

	began    trace.Seq // the pass this task belongs to
	decision trace.Seq // the last arithmetic of the pass: what its writes follow from
	rule     trace.Rule
	dead     bool // the world ended while the task was parked
}

// spawn starts fn as a coroutine and runs it to its first park.
func (w *World) spawn(parent *task, fn func(t *task)) *task {
	t := &task{world: w}
	if parent != nil {
		t.began, t.decision, t.rule = parent.began, parent.decision, parent.rule
	}
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		fn(t)
	})
	w.tasks[t] = struct{}{}
	t.run()
	return t
}

// run continues the coroutine until it parks again or ends.
func (t *task) run() {
	w := t.world
	outer, cause := w.running, w.cause
	w.running, w.cause = t, t.cause()
	if _, alive := t.resume(); !alive {
		delete(w.tasks, t)
	}
	w.running, w.cause = outer, cause
}

// cause is what the task's next event follows from.
func (t *task) cause() trace.Seq {
	if t.decision != 0 {
		return t.decision
	}
	return t.began
}

// park gives way until someone runs the task again.
func (t *task) park() {
	if !t.dead && !t.yield(struct{}{}) {
		t.dead = true
	}
}

// sleepUntil parks until a time; a time that is not in the future does not park.
func (t *task) sleepUntil(when time.Time) {
	if t.dead || !when.After(t.world.loop.now) {
		return
	}
	t.world.loop.at(when, t.run)
	t.park()
}

// fanout runs n calls as coroutines of their own under the same pass and
// parks this one until all have ended. In a world that has ended they fail.
func (t *task) fanout(ctx context.Context, n int, call func(ctx context.Context, i int) error) []error {
	errs := make([]error, n)
	if t.dead {
		return canceled(errs)
	}
	pending, waiting := n, false
	for i := range n {
		t.world.spawn(t, func(*task) {
			errs[i] = call(ctx, i)
			if pending--; pending == 0 && waiting {
				t.world.loop.at(t.world.loop.now, t.run)
			}
		})
	}
	if waiting = pending > 0; waiting {
		t.park()
	}
	if t.dead {
		return canceled(errs)
	}
	return errs
}

func canceled(errs []error) []error {
	for i := range errs {
		errs[i] = context.Canceled
	}
	return errs
}

// stopTasks ends what is parked: every call it still makes fails at once, so
// that the controllers unwind by their own error paths.
func (w *World) stopTasks() {
	w.ended = true
	for t := range w.tasks {
		t.dead = true
		w.running = t
		t.stop()
	}
	w.running = nil
	clear(w.tasks)
}
