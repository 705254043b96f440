package timeline

import (
	"math"
	"slices"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Options are what a fold cannot read off the events.
type Options struct {
	// Started is the time offsets count from. Its fraction of a second matters:
	// minReadySeconds count from whole seconds. Zero is a whole second.
	Started time.Time
	// Workloads to fold, in order; others follow where the run touched them. None
	// means all that the events specify.
	Workloads []trace.Ref
}

// Build folds the events of one run, which must be in order.
func Build(events []trace.Event, opts Options) *Timeline {
	f := &fold{
		Timeline: &Timeline{
			Events: events, Index: trace.NewIndex(events),
			homes: make([]*Workload, len(events)), echoes: map[trace.Seq]bool{}, lost: map[string]time.Duration{},
		},
		phase: time.Duration(opts.Started.Nanosecond()),
		works: map[trace.Ref]*Workload{}, sets: map[trace.Ref]*Set{}, pods: map[trace.Ref]*Pod{},
		next: math.MaxInt64, setup: true,
	}
	for i, e := range events {
		f.advance(e.Offset)
		f.now, f.seq = max(f.now, e.Offset), e.Seq
		if f.setup && e.Actor != trace.ActorWorld {
			f.begin()
		}
		f.take(e)
		f.note()
		f.homes[i] = f.home(e)
	}
	if f.setup {
		f.begin()
	}
	f.End = f.now
	f.Workloads = f.chosen(opts.Workloads)
	return f.Timeline
}

// fold is a Timeline in the making.
type fold struct {
	*Timeline
	phase time.Duration // of the second in which the run began
	now   time.Duration
	seq   trace.Seq
	setup bool // what was there before the run is still being told

	works   map[trace.Ref]*Workload
	order   []*Workload
	sets    map[trace.Ref]*Set
	pods    map[trace.Ref]*Pod
	all     []*Pod        // in the order in which they came up
	waiting []*Pod        // ready, not yet available
	next    time.Duration // when the first of them becomes available
}

// begin ends the setup: the counts of the start are complete.
func (f *fold) begin() {
	f.setup = false
	f.note()
}

// note keeps the counts of workloads for which they changed.
func (f *fold) note() {
	if f.setup {
		return
	}
	for _, w := range f.order {
		if n := len(w.Points); len(w.Specs) > 0 && (n == 0 || w.Points[n-1].Counts != w.counts) {
			w.Points = append(w.Points, Point{At: f.now, Seq: f.seq, Counts: w.counts})
		}
	}
}

func (f *fold) chosen(refs []trace.Ref) []*Workload {
	var chosen []*Workload
	if len(refs) == 0 {
		for _, w := range f.order {
			if len(w.Specs) > 0 {
				chosen = append(chosen, w)
			}
		}
		return chosen
	}
	for _, ref := range refs {
		chosen = append(chosen, f.workload(ref))
	}
	for _, w := range f.order {
		if !slices.Contains(refs, w.Object) && w.affected() {
			w.Other = true
			chosen = append(chosen, w)
		}
	}
	return chosen
}

// affected says that a run did something to a workload that it is not about.
func (w *Workload) affected() bool {
	return len(w.Specs) > 0 && (w.touched || len(w.Changes) > 0 || len(w.Points) > 1)
}

// workload finds or adds a workload. One that is only an owner has no Specs yet.
func (f *fold) workload(ref trace.Ref) *Workload {
	w, ok := f.works[ref]
	if !ok {
		w = &Workload{Object: ref, Conditions: map[string]Condition{}}
		f.works[ref] = w
		f.order = append(f.order, w)
	}
	return w
}

func (f *fold) set(ref trace.Ref) *Set {
	s, ok := f.sets[ref]
	if !ok {
		s = &Set{Object: ref}
		f.sets[ref] = s
	}
	return s
}

// own makes a ReplicaSet and its pods count for a workload.
func (f *fold) own(s *Set, w *Workload) {
	if s.workload == w {
		return
	}
	for _, p := range f.podsOf(s) {
		p.weigh(-1)
	}
	s.workload = w
	w.Sets = append(w.Sets, s)
	for _, p := range f.podsOf(s) {
		p.weigh(+1)
		w.Pods = append(w.Pods, p)
	}
	f.resize(w)
}

// podsOf are the pods that came up before their ReplicaSet had a workload.
func (f *fold) podsOf(s *Set) []*Pod {
	var pods []*Pod
	for _, p := range f.all {
		if p.Set == s && !p.released {
			pods = append(pods, p)
		}
	}
	return pods
}

// turn makes another ReplicaSet the new one, or none for an empty name.
func (f *fold) turn(w *Workload, name string) {
	if w.newSet == name {
		return
	}
	for _, p := range w.Pods {
		p.weigh(-1)
	}
	w.newSet = name
	for _, p := range w.Pods {
		p.weigh(+1)
	}
	f.resize(w)
}

// resize sums the sizes of a workload's ReplicaSets.
func (f *fold) resize(w *Workload) {
	w.counts.Old, w.counts.New = 0, 0
	for _, s := range w.Sets {
		if w.Bare() || w.IsNew(s.Object.Name) {
			w.counts.New += s.Now()
		} else {
			w.counts.Old += s.Now()
		}
	}
}

// change changes a pod and keeps the counts, its lane and the timers right.
func (f *fold) change(p *Pod, act func()) {
	p.weigh(-1)
	act()
	if !p.ready {
		p.available = false
	} else if !p.available {
		f.await(p)
	}
	p.weigh(+1)
	if n := len(p.Lane); n == 0 || p.Lane[n-1].State != p.State() {
		p.Lane = append(p.Lane, Lane{At: f.now, State: p.State(), Seq: f.seq})
	}
}

// await makes a ready pod available, now or when its time has come.
func (f *fold) await(p *Pod) {
	at := f.availableAt(p)
	p.available = at <= f.now
	if !p.available {
		f.waiting = append(f.waiting, p)
		f.next = min(f.next, at)
	}
}

// availableAt is when a ready pod becomes available. The API keeps ready times
// in whole seconds, so that the fraction of a second counts for the pod.
func (f *fold) availableAt(p *Pod) time.Duration {
	if p.readySince == longAgo {
		return longAgo
	}
	minReady := time.Duration(0)
	if w := p.workload(); w != nil {
		minReady = time.Duration(w.Spec().MinReadySeconds) * time.Second
	}
	if minReady == 0 {
		return p.readySince
	}
	second := (p.readySince + f.phase) / time.Second * time.Second
	return second - f.phase + minReady
}

// advance lets time pass: pods become available.
func (f *fold) advance(to time.Duration) {
	for f.next <= to {
		f.now = max(f.now, f.next)
		f.next = math.MaxInt64
		waiting := f.waiting
		f.waiting = nil
		for _, p := range waiting {
			if p.ready && !p.available && !p.removed {
				f.change(p, func() {})
				if p.available { // no event made it so
					p.Lane[len(p.Lane)-1].Seq = 0
				}
			}
		}
		f.note()
	}
}
