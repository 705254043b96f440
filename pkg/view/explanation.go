package view

import (
	"fmt"
	"io"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Explanation writes an explanation for people.
func Explanation(w io.Writer, e *v1alpha1.Explanation, opts Options) error {
	x := &explained{out: newPrinter(w, opts), e: e}
	x.out.parts("", 0, "  ", x.identity())
	x.out.labelled("cause", resultColumn, toneOfCause(e.Status.Cause), fmt.Sprintf("%s: %s%s", e.Status.Cause, e.Status.Message, guess(e.Status.Inferred)))
	x.findings()
	x.facts()
	x.events("chain", e.Status.Chain)
	x.pass()
	x.victims()
	x.events("next", e.Status.Next)
	x.basis()
	return x.out.err
}

// explained is an explanation being shown.
type explained struct {
	out *printer
	e   *v1alpha1.Explanation
}

func (x *explained) identity() []string {
	spec := x.e.Spec
	parts := []string{named(spec.Object), "ns " + spec.Object.Namespace}
	switch spec.Source {
	case v1alpha1.SourceCluster:
		parts = append(parts, fmt.Sprintf(" live cluster %q", spec.Context))
	case v1alpha1.SourceRecording:
		return append(parts, fmt.Sprintf(" at %s of the recording", brief(spec.OffsetSeconds)))
	}
	if spec.Time != nil {
		parts = append(parts, " at "+spec.Time.UTC().Format(time.RFC3339))
	}
	return parts
}

func guess(inferred bool) string {
	if inferred {
		return " (inferred)"
	}
	return ""
}

func toneOfCause(c v1alpha1.Cause) tone {
	switch c {
	case v1alpha1.CauseAvailable, v1alpha1.CauseComplete:
		return good
	case v1alpha1.CauseRollout, v1alpha1.CauseScaledDown, v1alpha1.CauseStarting, v1alpha1.CauseSettling, v1alpha1.CauseRollingOut, v1alpha1.CausePaused:
		return strong
	}
	return bad
}

// topicWords label the findings.
var topicWords = map[v1alpha1.Topic]string{
	v1alpha1.TopicCreated: "created", v1alpha1.TopicPending: "pending", v1alpha1.TopicNotReady: "not ready", v1alpha1.TopicDeleted: "deleted",
	v1alpha1.TopicEviction: "eviction", v1alpha1.TopicOwner: "owner", v1alpha1.TopicWaits: "waits for", v1alpha1.TopicState: "state",
}

// findings are all but the one that is the cause, which was told.
func (x *explained) findings() {
	for _, f := range x.e.Status.Findings {
		if f.Cause == x.e.Status.Cause && f.Message == x.e.Status.Message {
			x.told(f)
			continue
		}
		label := topicWords[f.Topic]
		if label == "" {
			label = string(f.Topic)
		}
		x.out.labelled(label, resultColumn, plain, f.Message+when(f)+guess(f.Inferred))
	}
}

// told is when what the cause tells of happens.
func (x *explained) told(f v1alpha1.Finding) {
	label := "since"
	if f.Cause == v1alpha1.CauseSettling {
		label = "until"
	}
	if f.Time != nil {
		x.out.labelled(label, resultColumn, plain, stamp(f.Time.Time))
	}
}

func when(f v1alpha1.Finding) string {
	if f.Time == nil {
		return ""
	}
	return ", at " + stamp(f.Time.Time)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// facts are a table of what is known to have happened.
func (x *explained) facts() {
	facts := x.e.Status.Facts
	if len(facts) == 0 {
		return
	}
	x.out.blank()
	var rows []row
	for _, f := range facts {
		line := row{at: time.Duration(f.Time.UnixNano()), who: f.Actor, what: fmt.Sprintf("%s (%s)", f.What, f.From), tone: plain}
		if f.Object != x.e.Spec.Object {
			line.what = named(f.Object) + " " + line.what
		}
		rows = append(rows, line)
	}
	columns := []column{
		{title: "TIME", width: len("2006-01-02 15:04:05"), of: func(r row) string { return stamp(time.Unix(0, int64(r.at))) }},
		{title: "WHO", gap: 2, of: func(r row) string { return r.who }},
	}
	x.table(columns, rows, "WHAT (SEEN IN)", "")
}

// events are a table of events of a recording or a simulation.
func (x *explained) events(label string, events []trace.Event) {
	rows := x.rows(events, trace.Pods)
	if len(rows) == 0 {
		return
	}
	x.out.blank()
	x.out.labelled(label, resultColumn, plain, headings[label])
	columns := []column{
		{title: "TIME", right: true, gap: 1, width: 8, of: func(r row) string { return clock(r.at) }},
		{title: "WHO", gap: 2, of: func(r row) string { return r.who }},
	}
	x.table(columns, rows, "WHAT", "BECAUSE")
}

var headings = map[string]string{"chain": "what led to it, the first cause first", "next": "the steps to come"}

// pass is what the controllers would do with what is there.
func (x *explained) pass() {
	rows := x.rows(x.e.Status.Pass, trace.Syncs)
	switch {
	case len(x.e.Status.Facts) == 0 && len(rows) == 0: // a recording
		return
	case len(rows) == 0:
		x.out.blank()
		x.out.labelled("pass", resultColumn, plain, "the controllers would change nothing")
		return
	}
	x.out.blank()
	x.out.labelled("pass", resultColumn, plain, "what one pass of the controllers would do now")
	x.table([]column{{title: "WHO", gap: 1, of: func(r row) string { return r.who }}}, rows, "WHAT", "BECAUSE")
}

// rows words events without a workload's counts.
func (x *explained) rows(events []trace.Event, depth trace.Depth) []row {
	opts := x.out.opts
	opts.Detail = depth
	s := &section{tl: timeline.Build(events, timeline.Options{}), workload: &timeline.Workload{}, opts: opts}
	r := &reader{section: s, said: map[trace.Ref]podSaid{}, standing: map[trace.Seq]bool{}}
	var rows []row
	for _, e := range events {
		line, ok := x.found(e)
		if !ok {
			line, ok = r.read(e)
		}
		if ok {
			line.at, line.event, line.who = e.Offset, e, e.Actor
			rows = append(rows, line)
		}
	}
	return rows
}

// found words what was there when a recording began, which a run's table leaves out.
func (x *explained) found(e trace.Event) (row, bool) {
	d, ok := e.Detail.(trace.Found)
	if !ok || e.Object.Kind != "Pod" {
		return row{}, false
	}
	line := row{what: "there from the beginning", tone: muted}
	if d.Node != "" {
		line.because = "on node " + d.Node
	}
	return line, true
}

func (x *explained) table(columns []column, rows []row, what, because string) {
	left := 2
	for i := range columns {
		c := &columns[i]
		c.width = max(c.width, wide(c.title))
		for _, r := range rows {
			c.width = max(c.width, wide(clean(c.of(r))))
		}
		left += c.gap + c.width
	}
	l := layout{columns: columns, left: left, what: whatWidth(rows, x.out.opts.Width-left)}
	if x.out.opts.Width < reasonsBeside {
		l.what, because = 0, ""
	}
	l.write(x.out, row{tone: muted}, func(c column) string { return c.title }, what, because)
	for _, r := range rows {
		l.row(x.out, r)
	}
}

// victims are who would go first.
func (x *explained) victims() {
	list := x.e.Status.Victims
	if len(list) == 0 {
		return
	}
	x.out.blank()
	x.out.labelled("victims", resultColumn, plain, "who goes first when fewer pods are wanted, and why before the next")
	for i, v := range list {
		if i == 0 || v.ReplicaSet != list[i-1].ReplicaSet {
			x.out.line(cell{text: " "}, cell{text: fmt.Sprintf("%s, %s", named(v.ReplicaSet), count(int32(v.Of), "pod")), tone: muted})
		}
		tone := plain
		if v.Pod == x.e.Spec.Object {
			tone = strong
		}
		x.out.labelled(fmt.Sprintf("%8d", v.Place), resultColumn, tone, v.Pod.Name+"  "+rankWords(v))
	}
}

func rankWords(v v1alpha1.Victim) string {
	if v.Rank.Rule == "All" {
		return "the last one"
	}
	return ranked(v.Rank)
}

// basis says what stands behind an explanation that was in part concluded.
func (x *explained) basis() {
	status := x.e.Status
	seen := map[string]bool{}
	text := ""
	for _, f := range status.Findings {
		if f.Inferred && f.From != "" && !seen[f.From] {
			seen[f.From] = true
			text += "; " + f.From
		}
	}
	if text == "" {
		return
	}
	x.out.blank()
	x.out.labelled("inferred", resultColumn, muted, "concluded from "+text[2:]+". A recording (apply --record) knows for certain.")
}
