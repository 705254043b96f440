package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Stream writes events one line each as they happen: time, actor, object, what
// and why. Unlike Human it knows nothing of what comes next, so it folds nothing.
type Stream struct {
	out *printer
	// by number, the arithmetics that sizes may still refer to
	sums map[trace.Seq]string
	last []trace.Seq
}

// NewStream makes one for events down to the depth of opts.Detail.
func NewStream(w io.Writer, opts Options) *Stream {
	return &Stream{out: newPrinter(w, opts), sums: map[trace.Seq]string{}}
}

// sumsKept is how many arithmetics are remembered: some passes' worth.
const sumsKept = 1024

// Event writes one event, unless it is deeper than wanted. The error is the writer's.
func (s *Stream) Event(e trace.Event) error {
	if b, ok := e.Detail.(trace.Budgeted); ok {
		s.keep(e.Seq, arithmetic(b.Rule, b.Terms, b.Result))
	}
	what, why, tone := s.words(e)
	if what == "" || trace.DepthOf(e.Detail) > s.out.opts.Detail {
		return s.out.err
	}
	s.out.line(
		cell{text: fmt.Sprintf("%.3fs", e.Offset.Seconds()), width: 10, right: true, tone: muted}, cell{text: "  "},
		cell{text: e.Actor, width: 10}, cell{text: "  "},
		cell{text: e.Object.Namespace + " " + named(e.Object), tone: muted}, cell{text: "  "},
		cell{text: what, tone: tone}, cell{text: "  "}, cell{text: why, tone: muted},
	)
	return s.out.err
}

func (s *Stream) keep(seq trace.Seq, sum string) {
	if len(s.last) == sumsKept {
		delete(s.sums, s.last[0])
		s.last = s.last[1:]
	}
	s.sums[seq] = sum
	s.last = append(s.last, seq)
}

// words say what happened and why; what is empty for events without a line.
func (s *Stream) words(e trace.Event) (what, why string, tone tone) {
	switch d := e.Detail.(type) {
	case trace.Changed:
		return changeWords(d), "", strong
	case trace.Scaled:
		if d.Created {
			return fmt.Sprintf("create at %d", d.To), s.sums[e.Cause], fresh
		}
		return fmt.Sprintf("scale %d -> %d", d.From, d.To), s.sums[e.Cause], scaleTone(d)
	case trace.Held:
		if s.out.opts.Detail >= trace.Syncs {
			return "hold", arithmetic(d.Why, d.Terms, d.Result), muted
		}
	case trace.ConditionChanged:
		if e.Actor != trace.ActorWorld {
			return conditionWords(d), strings.TrimSuffix(d.Reason+": "+d.Message, ": "), plain
		}
	case trace.Rejected:
		return "refused", strings.TrimPrefix(d.By+": "+d.Message, ": "), bad
	case trace.Heartbeat, trace.Tainted:
		return nodeWords(d)
	case trace.Evicted:
		return "evict", strings.TrimSuffix(d.By+": "+d.Message, ": "), bad
	case trace.Recorded:
		if s.out.opts.Detail >= trace.Syncs {
			return "event " + d.Reason, d.Message, muted
		}
	}
	if what, why, tone = podWords(e.Detail); what != "" {
		return what, why, tone
	}
	return syncWords(e.Detail)
}

func scaleTone(d trace.Scaled) tone {
	if d.To > d.From {
		return fresh
	}
	return stale
}

func conditionWords(d trace.ConditionChanged) string {
	if d.Status == "" {
		return "no longer " + d.Condition
	}
	return d.Condition + "=" + d.Status
}

// podWords are for the life of a pod.
func podWords(d trace.Detail) (what, why string, tone tone) {
	switch d := d.(type) {
	case trace.Created:
		return "created", d.Reason, fresh
	case trace.Deleted:
		if d.Rank != nil {
			return "delete", ranked(*d.Rank), stale
		}
		return "delete", d.Reason, stale
	case trace.Removed:
		return "gone", "", muted
	case trace.Scheduled:
		return "on " + d.Node, "", plain
	case trace.Unschedulable:
		return "unschedulable", d.Message, bad
	case trace.Adopted:
		return "adopted by " + named(d.Owner), "", plain
	case trace.Released:
		return "released by " + named(d.Owner), "", plain
	case trace.PodChanged:
		return podState(d), d.Reason, podTone(d)
	case trace.Exited:
		return fmt.Sprintf("exit %d", d.Code), strings.TrimSuffix("container "+d.Container+": "+d.Reason, ": "), bad
	}
	return "", "", plain
}

func podState(d trace.PodChanged) string {
	switch {
	case d.Terminating:
		return "terminating"
	case d.Ready:
		return "ready"
	}
	return d.Phase + ", not ready"
}

func podTone(d trace.PodChanged) tone {
	switch {
	case d.Ready && !d.Terminating:
		return good
	case d.Reason != "" && !d.Terminating:
		return bad
	}
	return muted
}

// syncWords are for passes, queues and writes.
func syncWords(d trace.Detail) (what, why string, tone tone) {
	switch d := d.(type) {
	case trace.Delivered:
		return "sees " + d.Watch, "resourceVersion " + d.ResourceVersion, muted
	case trace.Enqueued:
		return "queue", "", muted
	case trace.Requeued:
		return "queue in " + brief(d.After.Seconds()), d.Why, muted
	case trace.SyncBegan:
		if d.Requeues > 0 {
			return "pass", "after " + count(int32(d.Requeues), "failure"), muted
		}
		return "pass", "", muted
	case trace.SyncEnded:
		if d.Error != "" {
			return "pass failed", d.Error, bad
		}
	case trace.StatusChanged:
		return "status", fmt.Sprintf("%d pods, %d updated, %d ready, %d available", d.Replicas, d.Updated, d.Ready, d.Available), muted
	case trace.Wrote:
		what = fmt.Sprintf("%s: %d", strings.TrimSpace(d.Verb+" "+d.Subresource), d.Code)
		if d.Error != "" {
			return what, d.Error, bad
		}
		return what, "resourceVersion " + d.ResourceVersion, muted
	}
	return "", "", plain
}
