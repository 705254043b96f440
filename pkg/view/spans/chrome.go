package spans

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// micros is a time in microseconds, as the format has it.
type micros time.Duration

func (m micros) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m)/float64(time.Microsecond), 'f', -1, 64), nil
}

// chromeEvent is one event of the Trace Event Format.
type chromeEvent struct {
	Phase    string  `json:"ph"` // X slice, M name, C counter, s and f the ends of an arrow
	Name     string  `json:"name"`
	Category string  `json:"cat,omitempty"`
	Process  int     `json:"pid"`
	Thread   int     `json:"tid"`
	At       micros  `json:"ts"`
	Duration *micros `json:"dur,omitempty"`
	ID       int     `json:"id,omitempty"`
	Binding  string  `json:"bp,omitempty"`
	Args     any     `json:"args,omitempty"`
}

// chromeArgs is what a slice tells when it is looked at.
type chromeArgs struct {
	Because string    `json:"because,omitempty"`
	Object  string    `json:"object,omitempty"`
	Seq     trace.Seq `json:"seq,omitempty"`
	Cause   trace.Seq `json:"cause,omitempty"`
}

// Chrome writes a run in the Trace Event Format (JSON object form) that Perfetto
// and chrome://tracing load: a process for the controllers, for the nodes and for
// each workload's pods, a thread for each of them, arrows from causes to effects,
// and counters of each workload's pods. Times are microseconds of the run.
func Chrome(w io.Writer, plan *v1alpha1.RolloutPlan) error {
	c := &chromeWriter{layout: newLayout(plan), out: bufio.NewWriter(w), process: map[string]int{}, thread: map[*track]int{}}
	c.text(`{"displayTimeUnit":"ms","otherData":`)
	c.json(map[string]any{
		"tool": "kubectl rollout-sim", "verdict": plan.Status.Verdict, "seed": plan.Spec.Seed, "kubernetesVersion": plan.Spec.KubernetesVersion,
	})
	c.text(`,"traceEvents":[`)
	c.names()
	arrow := 0
	for _, s := range c.slices {
		length := micros(s.end - s.start)
		e := c.event("X", s)
		e.Duration, e.Args = &length, chromeArgs{Because: view.Clean(s.why), Object: view.Clean(s.event.Object.String()), Seq: s.event.Seq, Cause: s.event.Cause}
		c.emit(e)
		// What a pass contains needs no arrow from it.
		if s.cause != nil && s.cause != s.inside {
			arrow++
			c.arrow(arrow, s.cause, s)
		}
	}
	for _, w := range c.timeline.Workloads {
		c.counters(w)
	}
	c.text("\n]}\n")
	if c.err != nil {
		return c.err
	}
	return c.out.Flush()
}

// chromeWriter writes events one a line and keeps the first error.
type chromeWriter struct {
	*layout
	out     *bufio.Writer
	process map[string]int
	thread  map[*track]int
	written int
	err     error
}

func (c *chromeWriter) text(s string) {
	if c.err == nil {
		_, c.err = c.out.WriteString(s)
	}
}

func (c *chromeWriter) json(v any) {
	data, err := json.Marshal(v)
	if c.err == nil {
		c.err = err
	}
	c.text(string(data))
}

func (c *chromeWriter) emit(e chromeEvent) {
	if c.written++; c.written > 1 {
		c.text(",")
	}
	c.text("\n")
	c.json(e)
}

// names tells the names of processes and threads, and their order.
func (c *chromeWriter) names() {
	for i, group := range c.groups {
		c.process[group] = i + 1
		c.meta("process_name", i+1, 0, map[string]any{"name": view.Clean(group)})
		c.meta("process_sort_index", i+1, 0, map[string]any{"sort_index": i + 1})
	}
	for i, t := range c.tracks {
		c.thread[t] = i + 1
		c.meta("thread_name", c.process[t.group], i+1, map[string]any{"name": view.Clean(t.name)})
		c.meta("thread_sort_index", c.process[t.group], i+1, map[string]any{"sort_index": i + 1})
	}
}

func (c *chromeWriter) meta(name string, process, thread int, args any) {
	c.emit(chromeEvent{Phase: "M", Name: name, Process: process, Thread: thread, Args: args})
}

func (c *chromeWriter) event(phase string, s *slice) chromeEvent {
	return chromeEvent{
		Phase: phase, Name: view.Clean(s.name), Category: string(s.category),
		Process: c.process[s.track.group], Thread: c.thread[s.track], At: micros(s.start),
	}
}

// arrow leads from the middle of a cause's first moment to that of its effect,
// so that it is inside both slices however readers round.
func (c *chromeWriter) arrow(id int, from, to *slice) {
	for _, end := range []struct {
		phase, binding string
		of             *slice
	}{{"s", "", from}, {"f", "e", to}} {
		e := c.event(end.phase, end.of)
		e.Name, e.Category, e.ID, e.Binding = "cause", "cause", id, end.binding
		e.At = micros(end.of.start + moment/2)
		c.emit(e)
	}
}

// counters are the pods of a workload over time.
func (c *chromeWriter) counters(w *timeline.Workload) {
	process := c.process["pods of "+named(w.Object)]
	for _, p := range w.Points {
		c.emit(chromeEvent{Phase: "C", Name: view.Clean(fmt.Sprintf("pods of %s", named(w.Object))), Process: process, At: micros(p.At), Args: map[string]int32{
			"available": p.Available, "old": p.Active - p.Updated, "new": p.Updated, "terminating": p.Terminating, "needed": p.Needed,
		}})
	}
}
