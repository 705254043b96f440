package scenario_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// teller prints a run for the stories: one line a moment and kind of thing,
// sizes of all ReplicaSets oldest first as (old,new), then totals.
type teller struct {
	out   strings.Builder
	print map[string]bool

	order []string
	sizes map[string]int32
	ready map[string]bool // pods that are there, by readiness
	gone  map[string]bool // terminating or ended pods still stored
	avail map[string]int32

	moment    time.Duration
	path      []string // sizes within the moment
	lines     []string // what else the moment has
	created   map[string]int
	deleted   map[string]int
	peak      int
	objects   int
	peakAt    time.Duration
	objectsAt time.Duration
	least     int32

	pass  string       // what the last pass of a ReplicaSet is called
	pods  map[bool]int // its pod writes, by success
	reach []string     // counts of pods created whose times are of interest
	made  int

	eventWrites []string // actor and verb of each
}

func newTeller(print string) *teller {
	t := &teller{
		print: map[string]bool{}, sizes: map[string]int32{}, ready: map[string]bool{}, gone: map[string]bool{},
		avail: map[string]int32{}, created: map[string]int{}, deleted: map[string]int{}, least: -1, pods: map[bool]int{}, path: []string{"()"},
	}
	for _, what := range strings.Split(print, ",") {
		t.print[what] = true
	}
	return t
}

func (t *teller) tell(events []trace.Event) {
	for _, e := range events {
		// Retries of a few milliseconds belong to the moment they follow.
		if e.Offset-t.moment > 200*time.Millisecond && tells(e.Detail) {
			t.flush()
			t.moment = e.Offset
		}
		t.take(e)
	}
	t.passOver()
	t.flush()
}

// tells is false of a controller's daily work, of which there may be much.
func tells(d trace.Detail) bool {
	switch d.(type) {
	case trace.Enqueued, trace.Requeued, trace.SyncBegan, trace.SyncEnded, trace.Held:
		return false
	}
	return true
}

func (t *teller) take(e trace.Event) {
	switch d := e.Detail.(type) {
	case trace.Found:
		t.found(e, d)
	case trace.Scaled:
		t.scaled(e, d)
	case trace.Budgeted:
		t.sum("sum", e, d.Rule, d.Terms, d.Result)
	case trace.Held:
		t.sum("hold", e, d.Why, d.Terms, d.Result)
	case trace.SyncBegan:
		t.passBegan(e)
	case trace.SyncEnded:
		t.passEnded(e, d)
	case trace.Created:
		t.reached(e)
		t.ready[e.Object.Name] = false
		t.created[d.Owner.Name]++
		t.count(e.Offset)
	case trace.PodChanged:
		t.pod(e, d)
	case trace.Removed:
		if e.Object.Kind == "Pod" {
			delete(t.ready, e.Object.Name)
			delete(t.gone, e.Object.Name)
		}
	case trace.Deleted:
		t.say("pods", "delete %s (%s)", e.Object.Name, whyDeleted(d))
	case trace.StatusChanged:
		t.status(e, d)
	case trace.ConditionChanged:
		what := "conditions"
		if e.Object.Kind == "Node" {
			what = "nodes"
		}
		t.say(what, "%s/%s %s=%s %s %s", e.Object.Kind, e.Object.Name, d.Condition, d.Status, d.Reason, d.Message)
	case trace.Recorded:
		what := "events"
		if e.Object.Kind != "Deployment" && e.Object.Kind != "HorizontalPodAutoscaler" && d.EventType == corev1.EventTypeNormal {
			what = "allevents"
		}
		t.say(what, "event %s/%s %s %s: %s", e.Object.Kind, e.Object.Name, d.EventType, d.Reason, d.Message)
	case trace.Wrote:
		t.inPass(e, d)
		t.wrote(e, d)
	case trace.Evicted:
		t.say("evictions", "%s evicts %s: %s", d.By, e.Object.Name, d.Message)
	case trace.Rejected:
		t.say("evictions", "%s refuses %s: %s", d.By, e.Object.Name, d.Message)
	case trace.Heartbeat:
		t.say("nodes", "heartbeat %s %s", e.Object.Name, d.State)
	case trace.Tainted:
		t.say("nodes", "%s %s %s", map[bool]string{false: "taint", true: "untaint"}[d.Removed], e.Object.Name, d.Taint)
	case trace.Unschedulable:
		t.say("pods", "unschedulable %s: %s", e.Object.Name, d.Message)
	case trace.Scheduled:
		t.say("pods", "schedule %s on %s", e.Object.Name, d.Node)
	}
}

func whyDeleted(d trace.Deleted) string {
	if d.Rank == nil {
		return d.Reason
	}
	return fmt.Sprintf("%s %s %s vs %s", d.Reason, d.Rank.Rule, d.Rank.Mine, d.Rank.Other)
}

func (t *teller) say(what, format string, args ...any) {
	if t.print[what] {
		t.lines = append(t.lines, fmt.Sprintf(format, args...))
	}
}

func (t *teller) found(e trace.Event, d trace.Found) {
	switch e.Object.Kind {
	case "ReplicaSet":
		t.order, t.sizes[e.Object.Name] = append(t.order, e.Object.Name), *d.Replicas
		t.path = []string{t.now()}
	case "Pod":
		if d.Phase == string(corev1.PodFailed) || d.Phase == string(corev1.PodSucceeded) {
			t.gone[e.Object.Name] = true
		} else {
			t.ready[e.Object.Name] = d.Ready
		}
		if d.Available {
			t.avail[d.Owner.Name]++
		}
		t.count(e.Offset)
	}
}

func (t *teller) scaled(e trace.Event, d trace.Scaled) {
	if d.Created {
		t.order = append(t.order, e.Object.Name)
	}
	t.sizes[e.Object.Name] = d.To
	t.path = append(t.path, t.now())
}

func (t *teller) now() string {
	sizes := make([]string, len(t.order))
	for i, name := range t.order {
		sizes[i] = strconv.Itoa(int(t.sizes[name]))
	}
	return "(" + strings.Join(sizes, ",") + ")"
}

func (t *teller) pod(e trace.Event, d trace.PodChanged) {
	name := e.Object.Name
	if d.Terminating || d.Phase == string(corev1.PodFailed) || d.Phase == string(corev1.PodSucceeded) {
		if _, there := t.ready[name]; there {
			delete(t.ready, name)
			t.gone[name] = true
			t.deleted[d.Owner.Name]++
		}
		return
	}
	if d.Ready != t.ready[name] {
		t.say("pods", "%s %s", map[bool]string{true: "ready", false: "unready"}[d.Ready], name)
	}
	t.ready[name] = d.Ready
}

func (t *teller) count(at time.Duration) {
	if n := len(t.ready); n > t.peak {
		t.peak, t.peakAt = n, at
	}
	if n := len(t.ready) + len(t.gone); n > t.objects {
		t.objects, t.objectsAt = n, at
	}
}

// status notes what a ReplicaSet or Deployment publishes. The least available
// is what the Deployment says.
func (t *teller) status(e trace.Event, d trace.StatusChanged) {
	if e.Object.Kind != "Deployment" {
		return
	}
	if t.least < 0 || d.Available < t.least {
		t.least = d.Available
	}
	terminating := "none"
	if d.Terminating != nil {
		terminating = strconv.Itoa(int(*d.Terminating))
	}
	t.say("counts", "status observed=%d replicas=%d updated=%d ready=%d available=%d unavailable=%d terminating=%s",
		d.ObservedGeneration, d.Replicas, d.Updated, d.Ready, d.Available, d.Unavailable, terminating)
}

func (t *teller) wrote(e trace.Event, d trace.Wrote) {
	if e.Actor != trace.ActorDeployment && e.Actor != trace.ActorReplicaSet || e.Object.Kind == "Event" {
		return
	}
	sub := e.Object.Kind + "/" + e.Object.Name
	if d.Subresource != "" {
		sub += "/" + d.Subresource
	}
	what := "writes"
	if d.Code >= 300 && !t.print[what] {
		what = "refusals"
	}
	t.say(what, "%s %s %s %d %s", e.Actor, d.Verb, sub, d.Code, d.Error)
}

// flush prints the moment that has passed.
func (t *teller) flush() {
	at := t.moment.Round(time.Millisecond).String()
	if t.print["sizes"] && len(t.path) > 1 || t.print["sizes"] && len(t.path) == 1 && len(t.lines) == 0 && t.moment == 0 && len(t.order) > 0 {
		fmt.Fprintf(&t.out, "%-8s %s\n", at, strings.Join(slices.Compact(t.path), " "))
	}
	for _, name := range t.order {
		if t.print["made"] && t.created[name]+t.deleted[name] > 0 {
			fmt.Fprintf(&t.out, "%-8s %s +%d -%d pods\n", at, name, t.created[name], t.deleted[name])
		}
	}
	for i := 0; i < len(t.lines); {
		n := 1
		for strings.HasPrefix(t.lines[i], "pass ") && i+n < len(t.lines) && t.lines[i+n] == t.lines[i] {
			n++
		}
		fmt.Fprintf(&t.out, "%-8s %s%s\n", at, t.lines[i], times(n))
		i += n
	}
	t.path, t.lines = []string{t.now()}, nil
	clear(t.created)
	clear(t.deleted)
}

// times says how often the same was said in a row.
func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", n)
}

func (t *teller) end(o engine.Outcome, w *scenario.World) {
	if err := w.Person.Err(); err != nil {
		fmt.Fprintf(&t.out, "step failed: %v\n", err)
	}
	for _, err := range w.Refusals {
		fmt.Fprintf(&t.out, "refused: %v\n", err)
	}
	t.eventTotals()
	for _, warning := range w.Warnings {
		fmt.Fprintf(&t.out, "warning: %s\n", warning)
	}
	fmt.Fprintf(&t.out, "end      %s; peak %d pods at %s, %d objects at %s; least available %d\n",
		o.Why, t.peak, t.peakAt.Round(time.Millisecond), t.objects, t.objectsAt.Round(time.Millisecond), t.least)
}

// at is what stands at a path of an object, as one line of JSON.
func at(obj sim.Object, path string) string {
	data, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err.Error()
	}
	for _, step := range strings.Split(path, "/") {
		step = strings.ReplaceAll(step, "~1", "/") // as in a JSON pointer
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return "none"
			}
			value = v[i]
		default:
			return "none"
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
