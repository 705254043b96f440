// Package spans lays a run out as slices of time on tracks, for the programs in
// which people look at traces: Perfetto and Chrome read its trace events,
// OpenTelemetry's collectors its spans.
package spans

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// moment is how long a slice is that stands for something without duration, so
// that it can be seen and an arrow can begin or end at it.
const moment = time.Microsecond

// The groups of tracks; each workload's pods are a group of their own.
const (
	controllers = "controllers"
	nodes       = "nodes"
)

// category is what kind of slice it is.
type category string

const (
	pass  category = "pass"  // of a controller over one object
	step  category = "step"  // something that happened at one moment
	queue category = "queue" // a delivery, or a key put into a queue
	state category = "state" // of a pod
)

// track is a line of slices: a controller, one of its workers, a node or a pod.
type track struct {
	group, name string
	free        time.Duration // when its last slice ends
	pass        *slice        // the latest, on a worker's
}

// slice is a stretch of time on a track.
type slice struct {
	track      *track
	category   category
	name       string
	why        string
	event      trace.Event // that it stands for, or that began it
	start, end time.Duration
	cause      *slice // nil for a first cause
	inside     *slice // the pass it is part of; nil for none
}

// layout is a run on tracks.
type layout struct {
	timeline *timeline.Timeline
	groups   []string
	tracks   []*track
	slices   []*slice // in the order of their events, pods last

	at     map[string]*track
	of     map[trace.Seq]*slice
	passes map[trace.Seq]trace.Seq     // the pass that an event is part of
	ends   map[trace.Seq]time.Duration // of passes
}

func newLayout(plan *v1alpha1.RolloutPlan) *layout {
	l := &layout{
		timeline: timeline.Of(plan), at: map[string]*track{}, of: map[trace.Seq]*slice{},
		passes: map[trace.Seq]trace.Seq{}, ends: map[trace.Seq]time.Duration{},
	}
	l.findPasses()
	for _, e := range l.timeline.Events {
		l.place(e)
	}
	for _, w := range l.timeline.Workloads {
		for _, p := range w.Pods {
			l.pod(w, p)
		}
	}
	return l
}

// findPasses says which events are part of which pass: those that follow from
// it, up to a delivery, which another pass may follow from.
func (l *layout) findPasses() {
	for _, e := range l.timeline.Events {
		in := trace.Seq(0)
		switch e.Detail.(type) {
		case trace.SyncBegan:
			in = e.Seq
		case trace.Delivered, trace.Enqueued, trace.Found:
		default:
			if cause, ok := l.timeline.Index.Event(e.Cause); ok && cause.Actor == e.Actor {
				in = l.passes[e.Cause]
			}
		}
		if in != 0 {
			l.passes[e.Seq], l.ends[in] = in, max(l.ends[in], e.Offset)
		}
	}
}

// place puts an event onto its track.
func (l *layout) place(e trace.Event) {
	what, why := view.Tell(e)
	s := &slice{category: step, name: what, why: why, event: e, start: e.Offset, end: e.Offset + moment, cause: l.of[e.Cause]}
	switch e.Detail.(type) {
	case trace.Found, trace.Ended:
		return
	case trace.SyncBegan:
		s.category, s.name, s.end = pass, "sync "+named(e.Object), l.ends[e.Seq]+moment
		s.track = l.worker(e)
	case trace.Delivered, trace.Enqueued:
		s.category = queue
	}
	if s.name == "" { // a pass that ended well
		return
	}
	if in := l.of[l.passes[e.Seq]]; in != nil && s.category == step {
		s.inside, s.track = in, in.track
	}
	if s.track == nil {
		s.track = l.home(e)
	}
	if s.category != pass {
		s.name += " " + named(e.Object)
	}
	l.add(s)
}

// add puts a slice behind the one before it: what happens in one and the same
// microsecond is drawn side by side, so that arrows find their slices.
func (l *layout) add(s *slice) {
	length := s.end - s.start
	s.start = max(s.start, s.track.free)
	switch {
	case s.category == pass:
		s.end = max(s.end, s.start+moment)
		s.track.free, s.track.pass = s.start+moment, s // an arrow to the pass is not one to its first step
	case s.inside != nil:
		s.end = s.start + length
		s.track.free, s.inside.end = s.end, max(s.inside.end, s.end)
	default:
		s.end = s.start + length
		s.track.free = s.end
	}
	l.slices = append(l.slices, s)
	l.of[s.event.Seq] = s
}

// worker is the first worker of a controller that is free at a pass's beginning.
func (l *layout) worker(e trace.Event) *track {
	for n := 1; ; n++ {
		t := l.track(controllers, fmt.Sprintf("%s worker %d", e.Actor, n))
		if t.pass == nil || t.pass.end <= e.Offset {
			return t
		}
	}
}

// home is the track of what is part of no pass.
func (l *layout) home(e trace.Event) *track {
	if e.Node != "" {
		return l.track(nodes, e.Node)
	}
	return l.track(controllers, e.Actor)
}

// pod lays out the states of a pod, up to its end.
func (l *layout) pod(w *timeline.Workload, p *timeline.Pod) {
	t := l.track("pods of "+named(w.Object), p.Object.Name)
	for i, lane := range p.Lane {
		end := l.timeline.End
		if i+1 < len(p.Lane) {
			end = p.Lane[i+1].At
		}
		if lane.State == timeline.Gone || end <= lane.At && i+1 < len(p.Lane) {
			continue
		}
		s := &slice{track: t, category: state, name: string(lane.State), start: lane.At, end: max(end, lane.At+moment), cause: l.of[lane.Seq]}
		s.event = trace.Event{Seq: lane.Seq, Actor: "pod", Node: p.Node, Object: p.Object}
		l.slices = append(l.slices, s)
	}
}

func (l *layout) track(group, name string) *track {
	key := group + "\x00" + name
	t := l.at[key]
	if t == nil {
		t = &track{group: group, name: name}
		l.at[key] = t
		l.tracks = append(l.tracks, t)
		l.group(group)
	}
	return t
}

func (l *layout) group(name string) {
	for _, g := range l.groups {
		if g == name {
			return
		}
	}
	l.groups = append(l.groups, name)
}

// named is an object as a person would write it: deployment/web.
func named(ref trace.Ref) string { return strings.ToLower(ref.Kind) + "/" + ref.Name }
