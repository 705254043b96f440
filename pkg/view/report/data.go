package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// data is what the page's script draws from. Its texts are plain: the script
// puts them into the page as text and never as markup.
type data struct {
	States    []timeline.State `json:"states"`
	Workloads []drawing        `json:"workloads"`
	Events    []event          `json:"events"`
}

// drawing is the counts and pods of a workload over time, in seconds.
type drawing struct {
	Name        string    `json:"name"`
	End         float64   `json:"end"`
	Moves       float64   `json:"moves"` // until when its numbers change
	X           []float64 `json:"x"`
	Available   []int32   `json:"available"`
	Needed      []int32   `json:"needed"`
	Old         []int32   `json:"old"`
	New         []int32   `json:"new"`
	Terminating []int32   `json:"terminating"`
	Sets        []set     `json:"sets"`
}

type set struct {
	Name string `json:"name"`
	New  bool   `json:"new"`
	Pods []pod  `json:"pods"`
}

// pod has a triple for each of its states: since when, which of States, and the
// event that brought it about (0 for none).
type pod struct {
	Name string       `json:"name"`
	Node string       `json:"node,omitempty"`
	Lane [][3]float64 `json:"lane"`
}

// event is a step or one of its causes.
type event struct {
	Seq    trace.Seq `json:"seq"`
	Cause  trace.Seq `json:"cause,omitempty"`
	At     float64   `json:"at"`
	Who    string    `json:"who"`
	Object string    `json:"object"`
	What   string    `json:"what"`
	Why    string    `json:"why,omitempty"`
	// Inner events are deliveries, queues and passes.
	Inner bool `json:"inner,omitempty"`
}

var states = []timeline.State{
	timeline.Pending, timeline.Running, timeline.Ready, timeline.Available, timeline.Terminating, timeline.Ended, timeline.Gone,
}

func newData(tl *timeline.Timeline, stories []view.Story) data {
	d := data{States: states, Workloads: []drawing{}, Events: []event{}}
	wanted := map[trace.Seq]bool{}
	for _, s := range stories {
		d.Workloads = append(d.Workloads, newDrawing(tl, s))
		for _, step := range s.Steps {
			want(tl.Index, wanted, step.Seq)
		}
		for _, p := range s.Workload.Pods {
			for _, lane := range p.Lane {
				want(tl.Index, wanted, lane.Seq)
			}
		}
	}
	for _, e := range tl.Events {
		if wanted[e.Seq] {
			d.Events = append(d.Events, newEvent(e))
		}
	}
	return d
}

// want marks an event and all its causes.
func want(index *trace.Index, wanted map[trace.Seq]bool, seq trace.Seq) {
	for seq != 0 && !wanted[seq] {
		e, ok := index.Event(seq)
		if !ok {
			return
		}
		wanted[seq] = true
		seq = e.Cause
	}
}

func newEvent(e trace.Event) event {
	what, why := view.Tell(e)
	who := e.Actor
	if e.Node != "" {
		who += " on " + e.Node
	}
	out := event{Seq: e.Seq, Cause: e.Cause, At: seconds(e.Offset), Who: view.Clean(who), Object: view.Clean(named(e.Object)), What: view.Clean(what), Why: view.Clean(why)}
	out.Inner = trace.DepthOf(e.Detail) == trace.Syncs
	return out
}

// newDrawing is up to where nothing moves any more; all of it for a rollout
// that did not complete, since its waiting is what matters.
func newDrawing(tl *timeline.Timeline, s view.Story) drawing {
	end := tl.End
	if s.Status.Verdict == v1alpha1.Complete {
		end = min(end, s.Totals.LastMove+s.Totals.LastMove/20)
	}
	d := drawing{Name: view.Clean(named(s.Workload.Object)), End: seconds(end), Moves: seconds(s.Totals.LastMove), Sets: sets(s.Workload)}
	points := s.Workload.Points
	if n := len(points); n > 0 {
		last := points[n-1]
		last.At = max(last.At, end)
		points = append(points[:n:n], last)
	}
	for _, p := range points {
		d.X = append(d.X, seconds(p.At))
		d.Available, d.Needed = append(d.Available, p.Available), append(d.Needed, p.Needed)
		d.Old, d.New = append(d.Old, p.Active-p.Updated), append(d.New, p.Updated)
		d.Terminating = append(d.Terminating, p.Terminating)
	}
	return d
}

// sets are the ReplicaSets that had pods, each with them in the order in which
// they came and went, so that a rollout shows as waves.
func sets(w *timeline.Workload) []set {
	pods := map[*timeline.Set][]*timeline.Pod{}
	for _, p := range w.Pods {
		if !slices.Contains(pods[p.Set], p) {
			pods[p.Set] = append(pods[p.Set], p)
		}
	}
	out := []set{}
	for _, rs := range w.Sets {
		if len(pods[rs]) == 0 {
			continue
		}
		one := set{Name: view.Clean(rs.Object.Name), New: w.Bare() || w.IsNew(rs.Object.Name)}
		slices.SortStableFunc(pods[rs], compareLives)
		for _, p := range pods[rs] {
			one.Pods = append(one.Pods, newPod(p))
		}
		out = append(out, one)
	}
	return out
}

func compareLives(a, b *timeline.Pod) int {
	return cmp.Or(cmp.Compare(a.Lane[0].At, b.Lane[0].At), cmp.Compare(leaves(a), leaves(b)))
}

// leaves is when a pod began to go.
func leaves(p *timeline.Pod) time.Duration {
	for _, l := range p.Lane {
		switch l.State {
		case timeline.Terminating, timeline.Ended, timeline.Gone:
			return l.At
		}
	}
	return math.MaxInt64
}

func newPod(p *timeline.Pod) pod {
	out := pod{Name: view.Clean(p.Object.Name), Node: view.Clean(p.Node)}
	for _, l := range p.Lane {
		out.Lane = append(out.Lane, [3]float64{seconds(l.At), float64(slices.Index(states, l.State)), float64(l.Seq)})
	}
	return out
}

// seconds is a time to the microsecond, which is below what can be seen.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e6 }
