package sim

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// task is one coroutine: a controller's pass, or one call of its fan-out. It
// runs until it parks to wait for virtual time; the loop resumes it. Only one
// task runs at any moment, so nothing here needs a lock. One whose work is done
// is given the next: a new coroutine would have to grow its stack first.
type task struct {
	world  *World
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	work   func(t *task) // nil when it has none
	alarm  item          // what resumes it

	began    trace.Seq // the pass this task belongs to
	decision trace.Seq // the last arithmetic of the pass: what its writes follow from
	rule     trace.Rule
	dead     bool // the world ended while the task was parked
}

// spawn runs fn as a coroutine to its first park.
func (w *World) spawn(parent *task, fn func(t *task)) {
	t := w.freeTask()
	t.work = fn
	t.began, t.decision, t.rule = 0, 0, ""
	if parent != nil {
		t.began, t.decision, t.rule = parent.began, parent.decision, parent.rule
	}
	t.run()
}

// freeTask is a coroutine without work.
func (w *World) freeTask() *task {
	if n := len(w.free); n > 0 {
		t := w.free[n-1]
		w.free = w.free[:n-1]
		return t
	}
	t := &task{world: w}
	t.alarm.fn = t.run
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		for !t.dead {
			t.work(t)
			t.work = nil
			t.park()
		}
	})
	w.tasks = append(w.tasks, t)
	return t
}

// run continues the coroutine until it parks again or its work is done.
func (t *task) run() {
	w := t.world
	outer, cause := w.running, w.cause
	w.running, w.cause = t, t.cause()
	t.resume()
	w.running, w.cause = outer, cause
	if t.work == nil {
		w.free = append(w.free, t)
	}
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

// wakeAt lets a task that is about to park go on at a time.
func (t *task) wakeAt(when time.Duration) {
	t.alarm.when = when
	t.world.loop.push(&t.alarm)
}

// sleepUntil parks until a time; a time that is not in the future does not park.
func (t *task) sleepUntil(when time.Duration) {
	if t.dead || when <= t.world.loop.now {
		return
	}
	t.wakeAt(when)
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
				t.wakeAt(t.world.loop.now)
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

// stopTasks ends all coroutines: every call that a parked one still makes fails
// at once, so that the controllers unwind by their own error paths.
func (w *World) stopTasks() {
	w.ended = true
	for _, t := range w.tasks {
		t.dead = true
		w.running = t
		t.stop()
	}
	w.running, w.tasks, w.free = nil, nil, nil
}

// stopFreeTasks ends the coroutines without work. A world that is not run to an
// end must leave none behind.
func (w *World) stopFreeTasks() {
	for _, t := range w.free {
		t.stop()
	}
	w.free = nil
	w.tasks = slices.DeleteFunc(w.tasks, func(t *task) bool { return t.dead })
}
