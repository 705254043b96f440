package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// lingering is how long a pod must have taken to go for its end to be told.
const lingering = time.Second

// readPod is the row for an event of a pod's life.
func (r *reader) readPod(e trace.Event) (row, bool) {
	said := r.said[e.Object]
	defer func() { r.said[e.Object] = said }()
	name := e.Object.Name
	switch d := e.Detail.(type) {
	case trace.Found:
		said.ready = d.Ready
	case trace.Created:
		return row{what: "+ " + name, because: r.wanted(e, d.Reason), tone: fresh, pods: r.like("+", e)}, e.Object.Kind == "Pod"
	case trace.Deleted:
		said.leaving, said.isLeaving = e.Offset, true
		return r.deleted(e, d), true
	case trace.Removed:
		if e.Object.Kind != "Pod" {
			return row{what: "gone " + named(e.Object), tone: muted, bound: true}, true
		}
		line := row{what: "gone " + name, tone: muted, pods: r.like("gone", e)}
		if said.isLeaving {
			line.because = "after " + clock(e.Offset-said.leaving)
		}
		return line, !said.isLeaving || e.Offset-said.leaving >= lingering || r.opts.Detail >= trace.Syncs
	case trace.Scheduled:
		return row{what: "bind " + name, because: "to " + d.Node, tone: muted, pods: r.like("bind", e)}, r.opts.Detail >= trace.Syncs
	case trace.Exited:
		return exited(e, d, r.like("exit", e)), true
	case trace.Unschedulable:
		again := said.unschedulable == d.Message
		said.unschedulable = d.Message
		return row{what: "no node for " + name, because: d.Message, tone: bad, pods: r.like("no node for", e)}, !again || r.opts.Detail >= trace.Syncs
	case trace.PodChanged:
		line, ok := r.podChanged(e, d, &said)
		return line, ok && e.Actor != trace.ActorWorld
	case trace.Adopted:
		return row{what: "adopt " + named(e.Object), because: "by " + d.Owner.Name, pods: r.like("adopt", e)}, true
	case trace.Released:
		return row{what: "release " + named(e.Object), because: "by " + d.Owner.Name, pods: r.like("release", e)}, true
	}
	return row{}, false
}

// wanted is the count that made a ReplicaSet create a pod.
func (r *reader) wanted(e trace.Event, reason string) string {
	if b, ok := r.decision(e, trace.Wanted, false); ok {
		return arithmetic(b.Rule, b.Terms, b.Result)
	}
	return reason
}

func (r *reader) deleted(e trace.Event, d trace.Deleted) row {
	line := row{what: "- " + e.Object.Name, because: d.Reason, tone: stale, pods: r.like("-", e)}
	switch d.Reason {
	case "Ranked": // the rank itself says more
		line.because = ""
	case "All":
		line.because = "all go"
	case string(trace.Surplus): // seen from outside, where the ranking may have looked different
		line.because = "one of those too many"
	}
	if e.Object.Kind != "Pod" {
		line.what, line.pods, line.bound = "delete "+named(e.Object), nil, true
		line.because = arithmetic(trace.Rule(d.Reason), nil, 0)
	}
	if d.Rank != nil {
		line.because = ranked(*d.Rank)
	}
	return line
}

// podChanged tells readiness, trouble and the end of a pod; other changes only at the deepest level.
func (r *reader) podChanged(e trace.Event, d trace.PodChanged, said *podSaid) (row, bool) {
	name := e.Object.Name
	was := *said
	said.ready, said.reason = d.Ready, d.Reason
	switch {
	case d.Terminating && !was.isLeaving:
		said.leaving, said.isLeaving = e.Offset, true
		return row{what: "terminating " + name, because: d.Reason, tone: stale, pods: r.like("terminating", e)}, !r.askedLater(e)
	case d.Ready && !was.ready:
		return row{what: "ready " + name, tone: good, pods: r.like("ready", e)}, true
	case d.Phase == "Failed" || d.Phase == "Succeeded":
		return row{what: strings.ToLower(d.Phase) + " " + name, because: d.Reason, tone: bad, pods: r.like(strings.ToLower(d.Phase), e)}, !d.Terminating
	case !d.Ready && was.ready && !d.Terminating:
		return row{what: "not ready " + name, because: d.Reason, tone: bad, pods: r.like("not ready", e)}, true
	case d.Reason != "" && d.Reason != was.reason && !d.Ready:
		return row{what: d.Reason + " " + name, tone: bad, pods: r.like(d.Reason, e)}, true
	}
	return row{what: strings.ToLower(d.Phase) + " " + name, tone: muted, pods: r.like(strings.ToLower(d.Phase), e)}, r.opts.Detail >= trace.Syncs
}

// askedLater says that a deletion has its own event, with more to say.
func (r *reader) askedLater(e trace.Event) bool {
	for _, p := range r.workload.Pods {
		if p.Object == e.Object && p.Asked != 0 {
			return true
		}
	}
	return false
}

// like is what makes lines about pods fold: the verb and the ReplicaSet.
func (r *reader) like(verb string, e trace.Event) *like {
	set := ""
	for _, s := range r.workload.Sets {
		if len(s.Object.Name) > len(set) && strings.HasPrefix(e.Object.Name, s.Object.Name+"-") {
			set = s.Object.Name
		}
	}
	return &like{verb: verb, set: set}
}

// readSync is the row for the machinery's own events, shown at the deepest level.
func (r *reader) readSync(e trace.Event) (row, bool) {
	line, object := row{tone: muted, bound: true}, named(e.Object)
	switch d := e.Detail.(type) {
	case trace.Delivered:
		line.what, line.because = fmt.Sprintf("sees %s %s", d.Watch, object), "resourceVersion "+d.ResourceVersion
	case trace.Enqueued:
		line.what = "queue " + object
	case trace.Requeued:
		line.what, line.because = fmt.Sprintf("queue %s in %s", object, brief(d.After.Seconds())), d.Why
	case trace.SyncBegan:
		line.what, line.counted = "pass over "+object, true
		if d.Requeues > 0 {
			line.because = "after " + count(int32(d.Requeues), "failure")
		}
	case trace.SyncEnded:
		if d.Error == "" {
			return row{}, false
		}
		line.what, line.because, line.tone = "pass over "+object+" failed", d.Error, bad
	case trace.StatusChanged:
		line.what = "status of " + object
		line.because = fmt.Sprintf("%d pods, %d updated, %d ready, %d available", d.Replicas, d.Updated, d.Ready, d.Available)
	case trace.Recorded:
		line.what, line.because = "event "+d.Reason, d.Message
		if r.live && e.Object.Kind == "Pod" && d.EventType == "Warning" && !toldOtherwise[d.Reason] {
			return row{what: d.Reason + " " + e.Object.Name, because: d.Message, tone: bad, pods: r.like(d.Reason, e)}, true
		}
	default:
		return row{}, false
	}
	return line, r.opts.Detail >= trace.Syncs
}

// toldOtherwise are the Kubernetes Events that other rows tell already.
var toldOtherwise = map[string]bool{"FailedScheduling": true, "FailedCreate": true, "BackOff": true}

// exited is a container that ended.
func exited(e trace.Event, d trace.Exited, like *like) row {
	because := "container " + d.Container
	if d.Reason != "" {
		because += ": " + d.Reason
	}
	if d.Restarts > 0 {
		because += ", " + count(d.Restarts, "restart") + " so far"
	}
	return row{what: fmt.Sprintf("exit %d %s", d.Code, e.Object.Name), because: because, tone: bad, pods: like}
}

// wrote is a write and its answer, shown at the deepest level; refused pods are shown at any.
func (r *reader) wrote(e trace.Event, d trace.Wrote) (row, bool) {
	refused := d.Verb == "create" && d.Code >= 400 && e.Actor != trace.ActorYou
	if refused && r.opts.Detail < trace.Syncs {
		return r.refused(e, d.Error), !r.rejected && d.Code != 409
	}
	what := strings.TrimSpace(d.Verb + " " + named(e.Object) + " " + d.Subresource)
	line := row{what: fmt.Sprintf("%s: %d", what, d.Code), because: d.Error, tone: muted, bound: true}
	if d.Error == "" && d.ResourceVersion != "" {
		line.because = "resourceVersion " + d.ResourceVersion
	}
	return line, r.opts.Detail >= trace.Syncs
}
