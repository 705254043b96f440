package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// row is one line of the table.
type row struct {
	at             time.Duration
	event          trace.Event // that it is about
	who, node      string
	what, because  string
	tone           tone
	counts         *timeline.Counts // nil leaves the numbers out
	wave           *step            // a scaling that may fold into a wave
	pods           *like            // a line about a pod that may fold with its like
	bound, counted bool             // bound rows end the waves before them
	turn           bool             // nodes die or are back: a stretch of like lines ends before
	of, off        string           // of a real rollout: the workload, and how late
}

// step is one scaling of a ReplicaSet.
type step struct {
	set      string
	from, to int32
}

func (s *step) up() bool { return s.to > s.from }

// like is what lines about pods, or about nodes, have in common when they fold.
type like struct {
	verb, set string
	nodes     bool // verb is said of nodes, and set is what distinguishes it further
}

// reader turns events into rows. It remembers what it has said about each pod.
type reader struct {
	*section
	said map[trace.Ref]podSaid
	// rejected: refusals are told as such, so that the failed writes need not be.
	rejected bool
	// standing are the holds that were never followed by a move.
	standing map[trace.Seq]bool
}

type podSaid struct {
	ready         bool
	reason        string
	unschedulable string
	leaving       time.Duration
	isLeaving     bool
}

// rows are the lines for a workload, before folding.
func (s *section) rows() []row {
	r := &reader{section: s, said: map[trace.Ref]podSaid{}, standing: s.standingHolds()}
	for _, e := range s.tl.Events {
		if _, ok := e.Detail.(trace.Rejected); ok {
			r.rejected = true
		}
	}
	var rows []row
	for _, e := range s.tl.Events {
		if !r.concerns(e) {
			continue
		}
		if line, ok := r.read(e); ok && trace.DepthOf(e.Detail) <= max(s.opts.Detail, minDepth(e.Detail)) {
			line.at, line.event, line.who, line.node = e.Offset, e, e.Actor, e.Node
			if line.counted {
				c := s.workload.After(e)
				line.counts = &c
			}
			rows = append(rows, line)
		}
	}
	return rows
}

// minDepth raises what matters at every depth: refused writes are failures.
func minDepth(d trace.Detail) trace.Depth {
	if w, ok := d.(trace.Wrote); ok && w.Verb == "create" && w.Code >= 400 {
		return trace.Syncs
	}
	return trace.Decisions
}

// concerns says whether an event belongs in the section: the workload's own,
// and what people and the world did to things that belong to no workload.
func (r *reader) concerns(e trace.Event) bool {
	if r.tl.Echo(e.Seq) {
		return false
	}
	if w := r.tl.WorkloadOf(e); w != nil {
		return w == r.workload
	}
	switch e.Detail.(type) {
	case trace.Changed, trace.Evicted:
		return true
	case trace.Heartbeat, trace.Tainted, trace.ConditionChanged:
		return e.Object.Kind == "Node"
	}
	return false
}

// standingHolds are the last holds of a workload that ended incomplete, one a rule.
func (s *section) standingHolds() map[trace.Seq]bool {
	standing := map[trace.Seq]bool{}
	if s.totals.CompleteAt >= 0 {
		return standing
	}
	seen := map[trace.Rule]bool{}
	for i := len(s.tl.Events) - 1; i >= 0; i-- {
		e := s.tl.Events[i]
		if s.tl.WorkloadOf(e) != s.workload {
			continue
		}
		if _, moved := e.Detail.(trace.Scaled); moved {
			break
		}
		if h, ok := e.Detail.(trace.Held); ok && !seen[h.Why] && h.Why != trace.Expectations {
			seen[h.Why], standing[e.Seq] = true, true
		}
	}
	return standing
}

// read is the row for an event; false for those that have none at this depth.
func (r *reader) read(e trace.Event) (row, bool) {
	switch d := e.Detail.(type) {
	case trace.Changed:
		return r.changed(e, d), true
	case trace.Specified:
		return r.specified(e, d)
	case trace.Scaled:
		// A bare ReplicaSet's size is what its person set: told already.
		return r.scaled(e, d), !r.workload.Bare()
	case trace.Held:
		return row{what: "hold " + named(e.Object), because: arithmetic(d.Why, d.Terms, d.Result), tone: muted, counted: true, bound: true},
			r.standing[e.Seq] || r.opts.Detail >= trace.Syncs
	case trace.ConditionChanged:
		return r.condition(e, d)
	case trace.Heartbeat, trace.Tainted:
		what, because, tone := nodeWords(d)
		beat, turn := d.(trace.Heartbeat)
		return row{what: e.Object.Name + " " + what, because: because, tone: tone, bound: true, turn: turn && beat.State != "Missed",
			pods: &like{verb: what, set: because, nodes: true}}, true
	case trace.Rejected:
		if e.Actor == trace.ActorYou {
			return row{what: keeps + " " + e.Object.Name, because: d.Message, tone: bad, pods: r.like(keeps, e)}, true
		}
		if d.By != e.Actor && d.By != "" {
			d.Message = d.By + ": " + d.Message
		}
		return r.refused(e, d.Message), true
	case trace.Wrote:
		return r.wrote(e, d)
	case trace.Evicted:
		because := strings.TrimSuffix(d.By+": "+d.Message, ": ")
		if d.By == e.Actor && d.Message != "" { // the row says who
			because = d.Message
		}
		return row{what: "evict " + e.Object.Name, because: because, tone: bad, pods: r.like("evict", e)}, true
	}
	if line, ok := r.readPod(e); ok {
		return line, true
	}
	return r.readSync(e)
}

func (r *reader) changed(e trace.Event, d trace.Changed) row {
	line := row{what: changeWords(d), tone: strong, bound: true}
	switch {
	case e.Object != r.workload.Object:
		line.what = named(e.Object) + " " + line.what
		line.counted = true
	default:
		c := r.workload.AfterChange(e)
		line.counts = &c
	}
	switch d.Verb {
	case "create", "update", "delete", "load":
	case "scale-up":
		line.because = "for pods that no node takes"
	default:
		line.because = d.Verb
	}
	return line
}

// changeWords names the parts of an object that a change touches.
func changeWords(d trace.Changed) string {
	switch d.Verb {
	case "create":
		return "created"
	case "delete":
		return "deleted"
	case "drain":
		return "drained"
	case "load", "scale-up":
		return loadWords(d.Fields)
	}
	var parts []string
	seen := map[string]bool{}
	for _, f := range d.Fields {
		part := partOf(f)
		if !seen[part] {
			seen[part] = true
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "applied, nothing changed"
	}
	return strings.Join(parts, ", ")
}

// loadWords tell of numbers as they are now: cpu 700m -> 1400m.
func loadWords(fields []trace.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = fmt.Sprintf("%s %s -> %s", f.Path, f.From, f.To)
	}
	return strings.Join(parts, ", ")
}

func partOf(f trace.Field) string {
	switch {
	case strings.HasPrefix(f.Path, "spec.template"):
		return "template changed"
	case f.Path == "spec.replicas":
		return fmt.Sprintf("replicas %s -> %s", f.From, f.To)
	case f.Path == "spec.paused" && f.To == "true":
		return "paused"
	case f.Path == "spec.paused":
		return "resumed"
	case f.Path == "spec.unschedulable" && f.To == "true":
		return "cordoned"
	case f.Path == "spec.unschedulable":
		return "uncordoned"
	case strings.HasPrefix(f.Path, "metadata.labels"):
		return "labels changed"
	case strings.HasPrefix(f.Path, "metadata.annotations"):
		return "annotations changed"
	}
	top := strings.TrimPrefix(f.Path, "spec.")
	if i := strings.IndexAny(top, ".["); i > 0 {
		top = top[:i]
	}
	return top + " changed"
}

// specified is a row when someone other than a person sized the workload, as an
// autoscaler does. What was told as a change of theirs is not told again, unless
// there is a reason to add.
func (r *reader) specified(e trace.Event, d trace.Specified) (row, bool) {
	was := r.workload.SpecAt(e.Seq - 1)
	if e.Actor == trace.ActorWorld || e.Actor == trace.ActorYou || was.Generation == 0 || was.Replicas == d.Replicas {
		return row{}, false
	}
	reason := r.rescaled(e)
	if cause, found := r.tl.Index.Event(e.Cause); found && reason == "" {
		if _, told := cause.Detail.(trace.Changed); told && cause.Object == e.Object {
			return row{}, false
		}
	}
	return row{what: fmt.Sprintf("replicas %d -> %d", was.Replicas, d.Replicas), because: reason, tone: strong, counted: true, bound: true}, true
}

// rescaled is why an autoscaler set a size: its Event of that moment says it.
func (r *reader) rescaled(e trace.Event) string {
	from, _ := slices.BinarySearchFunc(r.tl.Events, e.Seq, func(e trace.Event, seq trace.Seq) int { return cmp.Compare(e.Seq, seq) })
	for _, next := range r.tl.Events[from:] {
		if next.Offset != e.Offset {
			break
		}
		if d, ok := next.Detail.(trace.Recorded); ok && next.Actor == e.Actor && d.Reason == "SuccessfulRescale" {
			_, reason, _ := strings.Cut(d.Message, "; reason: ")
			return reason
		}
	}
	return ""
}

func (r *reader) scaled(e trace.Event, d trace.Scaled) row {
	line := row{counted: true, because: r.budget(e, d), tone: stale}
	if d.To > d.From {
		line.tone = fresh
	}
	if d.Created {
		line.tone = fresh
		line.what = fmt.Sprintf("create %s at %d", e.Object.Name, d.To)
		line.bound = true
		return line
	}
	line.what = fmt.Sprintf("scale %s %d -> %d", e.Object.Name, d.From, d.To)
	line.wave = &step{set: e.Object.Name, from: d.From, to: d.To}
	return line
}

// budget is the arithmetic behind a scaling: its cause, or the latest of the
// same pass. Old pods go by two rules, spare pods and available ones; the
// first says more, so it is shown where both come to the same.
func (r *reader) budget(e trace.Event, d trace.Scaled) string {
	own, ok := r.decision(e, d.Why, false)
	if d.Why == trace.Available || d.Why == trace.Unhealthy {
		if s, found := r.decision(e, trace.Surplus, true); found && s.Result == d.From-d.To {
			return arithmetic(s.Rule, s.Terms, s.Result)
		}
	}
	if !ok {
		return arithmetic(d.Why, nil, 0)
	}
	return arithmetic(own.Rule, own.Terms, own.Result)
}

// decision finds the arithmetic of a rule that an event followed from: its
// cause, or else the latest before it in the same pass, about the same object
// unless any will do.
func (r *reader) decision(e trace.Event, rule trace.Rule, any bool) (found trace.Budgeted, ok bool) {
	cause, known := r.tl.Index.Event(e.Cause)
	if !known {
		return found, false
	}
	if b, is := cause.Detail.(trace.Budgeted); is && b.Rule == rule {
		return b, true
	}
	// The cause is the pass itself, or a decision whose cause is the pass.
	for _, pass := range []trace.Seq{cause.Cause, cause.Seq} {
		for _, sibling := range r.tl.Index.Effects(pass) {
			b, is := sibling.Detail.(trace.Budgeted)
			if is && b.Rule == rule && sibling.Seq < e.Seq && (any || sibling.Object == e.Object) {
				found, ok = b, true
			}
		}
	}
	return found, ok
}

// condition shows what a Deployment says of itself where it matters to people.
func (r *reader) condition(e trace.Event, d trace.ConditionChanged) (row, bool) {
	who := ""
	if e.Object != r.workload.Object {
		who = named(e.Object) + " "
	}
	line := row{
		what: fmt.Sprintf("%s%s=%s", who, d.Condition, d.Status), because: strings.TrimSuffix(d.Reason+": "+d.Message, ": "),
		tone: muted, counted: true, bound: true,
	}
	if d.Status == "" {
		line.what, line.because = fmt.Sprintf("%sno longer %s", who, d.Condition), ""
	}
	shown := false
	switch {
	case e.Actor == trace.ActorWorld:
		return row{}, false
	case e.Object.Kind == "Node" && d.Condition == "Ready":
		line.what, line.tone, shown = e.Object.Name+" Ready="+d.Status, bad, true
		line.pods = &like{verb: "Ready=" + d.Status, nodes: true}
		if d.Status == "True" {
			line.tone = good
		}
	case e.Object.Kind != "Deployment":
	case d.Condition == "Progressing" && d.Status == "False", d.Condition == "ReplicaFailure" && d.Status == "True":
		line.tone, shown = bad, true
	case d.Condition == "Progressing" && d.Reason == "NewReplicaSetAvailable":
		line.tone, shown = good, true
	case d.Condition == "Progressing" && strings.HasPrefix(d.Reason, "Deployment"):
		shown = true
	}
	return line, shown || r.opts.Detail >= trace.Syncs
}

// refused is a pod or ReplicaSet that the API server did not take.
func (r *reader) refused(e trace.Event, message string) row {
	set := e.Object.Name
	if cause, ok := r.tl.Index.Event(e.Cause); ok && cause.Object.Kind == "ReplicaSet" {
		set = cause.Object.Name
	}
	what := "refused " + named(e.Object)
	if e.Object.Kind == "Pod" {
		what = "refused a pod of " + set
	}
	return row{what: what, because: message, tone: bad, pods: &like{verb: "refused", set: set}}
}

// named is an object as a person would write it: deployment/web.
func named(ref trace.Ref) string { return strings.ToLower(ref.Kind) + "/" + ref.Name }
