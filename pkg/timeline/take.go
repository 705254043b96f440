package timeline

import (
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// status is a Deployment's counts as published.
type status struct {
	at  time.Duration
	seq trace.Seq
	trace.StatusChanged
}

// refusal is a create request that was refused.
type refusal struct {
	at      time.Duration
	set     *Set // whose pods are refused; nil when it was a ReplicaSet
	by      string
	message string
}

// held is a decision to do nothing.
type held struct {
	at     time.Duration
	object trace.Ref
	trace.Held
}

// take folds one event.
func (f *fold) take(e trace.Event) {
	switch d := e.Detail.(type) {
	case trace.Found:
		f.found(e.Object, d)
	case trace.Specified:
		f.specified(e.Object, d)
	case trace.Changed:
		if w, ok := f.works[e.Object]; ok || isWorkload(e.Object) && f.sets[e.Object] == nil {
			if !ok {
				w = f.workload(e.Object)
			}
			w.Changes = append(w.Changes, Change{At: f.now, Seq: f.seq, Changed: d})
		}
	case trace.Scaled:
		f.scaled(e.Object, d)
	case trace.Ended:
		f.Ended = d.Why
	case trace.ConditionChanged:
		if e.Object.Kind == "Node" && d.Condition == "Ready" {
			f.takeNode(e.Object.Name, d.Status == "True", e.Actor == trace.ActorWorld)
		}
		f.condition(e.Object, d)
	case trace.StatusChanged:
		if w, ok := f.works[e.Object]; ok {
			w.statuses = append(w.statuses, status{f.now, f.seq, d})
		}
	case trace.Held:
		if w := f.home(e); w != nil {
			w.held = append(w.held, held{f.now, e.Object, d})
		}
	case trace.Rejected:
		f.refuse(e, d.By, d.Message)
	case trace.Heartbeat:
		f.takeNode(e.Object.Name, d.State == "Resumed", false)
	case trace.Wrote:
		if d.Verb == "create" && d.Code >= 400 {
			f.refuse(e, "", d.Error)
		}
	default:
		f.takePod(e)
	}
}

// takePod folds the events that are about pods, and the end of anything.
func (f *fold) takePod(e trace.Event) {
	switch d := e.Detail.(type) {
	case trace.Created:
		if e.Object.Kind == "Pod" {
			f.created(e, d)
		}
	case trace.Deleted:
		f.deleted(e, d)
	case trace.Removed:
		f.removed(e.Object)
	case trace.Scheduled:
		if p, ok := f.pods[e.Object]; ok {
			p.Node, p.Unschedulable = d.Node, nil
		}
	case trace.Unschedulable:
		if p, ok := f.pods[e.Object]; ok {
			p.Unschedulable = &d
		}
	case trace.PodChanged:
		f.podChanged(e, d)
	case trace.Evicted:
		if p, ok := f.pods[e.Object]; ok {
			p.Trouble = "Evicted"
		}
	case trace.Adopted:
		f.adopted(e.Object, d.Owner)
	case trace.Released:
		if p, ok := f.pods[e.Object]; ok {
			f.change(p, func() { p.released = true })
		}
	}
}

func isWorkload(ref trace.Ref) bool { return ref.Kind == "Deployment" || ref.Kind == "ReplicaSet" }

func (f *fold) found(ref trace.Ref, d trace.Found) {
	switch ref.Kind {
	case "Deployment":
		f.workload(ref)
	case "ReplicaSet":
		s := f.set(ref)
		s.Hash, s.Revision = d.Hash, d.Revision
		if d.Replicas != nil {
			f.size(s, *d.Replicas)
		}
		if d.Owner.Kind == "Deployment" {
			f.own(s, f.workload(d.Owner))
		}
	case "Pod":
		p := f.pod(ref, d.Owner)
		p.Found = true
		f.change(p, func() {
			p.Node, p.phase, p.ready = d.Node, d.Phase, d.Ready
			p.readySince = f.now - time.Duration(d.ReadySeconds*float64(time.Second))
			if d.Available && d.ReadySeconds == 0 {
				p.readySince = longAgo
			}
		})
	}
}

func (f *fold) specified(ref trace.Ref, d trace.Specified) {
	w := f.workload(ref)
	before := w.Spec()
	w.Specs = append(w.Specs, Spec{At: f.now, Seq: f.seq, Specified: d})
	w.counts.Desired, w.counts.Needed = d.Replicas, d.Needed
	if w.Bare() {
		s := f.set(ref)
		f.own(s, w)
		f.size(s, d.Replicas)
	} else {
		f.turn(w, d.NewSet)
		if s, ok := f.sets[trace.Ref{Kind: "ReplicaSet", Namespace: ref.Namespace, Name: d.NewSet}]; ok && d.Revision != "" && !d.Paused {
			s.Revision = d.Revision
		}
	}
	if before.MinReadySeconds != d.MinReadySeconds {
		for _, p := range w.Pods {
			f.change(p, func() { p.available = false })
		}
	}
}

func (f *fold) scaled(ref trace.Ref, d trace.Scaled) {
	s, known := f.sets[ref]
	if known && len(s.Sizes) > 0 && s.Now() == d.To && !s.Gone {
		f.echoes[f.seq] = true
		return
	}
	s = f.set(ref)
	s.Gone = false
	if d.Created {
		s.Hash, s.Revision = d.Hash, d.Revision
	}
	f.size(s, d.To)
	if d.Owner.Kind == "Deployment" {
		f.own(s, f.workload(d.Owner))
	}
	if w := s.workload; w != nil {
		w.touched = true
		if d.Created {
			f.turn(w, ref.Name)
		}
		f.resize(w)
	}
}

func (f *fold) size(s *Set, replicas int32) {
	s.Sizes = append(s.Sizes, Size{At: f.now, Seq: f.seq, Replicas: replicas})
	if s.workload != nil {
		f.resize(s.workload)
	}
}

func (f *fold) condition(ref trace.Ref, d trace.ConditionChanged) {
	c := Condition{At: f.now, ConditionChanged: d}
	if w, ok := f.works[ref]; ok {
		if d.Reason == deadlineExceeded && w.Conditions[d.Condition].Reason != deadlineExceeded && !f.setup {
			w.Missed = append(w.Missed, f.now)
		}
		w.Conditions[d.Condition] = c
	}
	if s, ok := f.sets[ref]; ok && d.Condition == "ReplicaFailure" {
		s.Failure = c
	}
}

// refuse keeps a refused create request of a workload's controllers.
func (f *fold) refuse(e trace.Event, by, message string) {
	w := f.home(e)
	if w == nil || e.Actor == trace.ActorYou {
		return
	}
	r := refusal{at: f.now, by: by, message: message}
	if e.Object.Kind == "Pod" {
		r.set = f.setBehind(e)
	}
	w.refused = append(w.refused, r)
}

// setBehind is the ReplicaSet whose pass led to an event about a pod that never
// came to be, and so may have no name.
func (f *fold) setBehind(e trace.Event) *Set {
	cause := e
	for range 8 { // decision, pass, enqueue, delivery; beyond that lies another story
		var ok bool
		if cause, ok = f.Index.Event(cause.Cause); !ok || cause.Seq >= e.Seq {
			break
		}
		if s, ok := f.sets[cause.Object]; ok {
			return s
		}
	}
	for _, w := range f.order {
		for _, s := range w.Sets {
			if e.Object.Namespace == s.Object.Namespace && strings.HasPrefix(e.Object.Name, s.Object.Name+"-") {
				return s
			}
		}
	}
	return nil
}

// pod finds or adds a pod.
func (f *fold) pod(ref, owner trace.Ref) *Pod {
	p, ok := f.pods[ref]
	if !ok {
		p = &Pod{Object: ref, phase: "Pending"}
		f.pods[ref] = p
		f.all = append(f.all, p)
	}
	if p.Set == nil && owner.Kind == "ReplicaSet" {
		f.give(p, f.set(owner))
	}
	return p
}

// give makes a pod one of a ReplicaSet's.
func (f *fold) give(p *Pod, s *Set) {
	p.weigh(-1)
	p.Set, p.released = s, false
	p.weigh(+1)
	if s.workload != nil {
		s.workload.Pods = append(s.workload.Pods, p)
	}
}

func (f *fold) created(e trace.Event, d trace.Created) {
	if p, ok := f.pods[e.Object]; ok && !p.removed {
		f.echoes[f.seq] = true
		return
	}
	delete(f.pods, e.Object)
	p := f.pod(e.Object, d.Owner)
	f.change(p, func() {})
	if w := p.workload(); w != nil {
		w.touched = true
	}
}

func (f *fold) deleted(e trace.Event, d trace.Deleted) {
	if e.Object.Kind != "Pod" {
		return
	}
	p := f.pod(e.Object, d.Owner)
	if p.Asked != 0 {
		f.echoes[f.seq] = true
		return
	}
	p.Asked = f.seq
	f.change(p, func() { f.goes(p) })
}

// goes marks a pod as on its way out.
func (f *fold) goes(p *Pod) {
	if p.terminating {
		return
	}
	p.terminating = true
	if f.setup {
		return
	}
	p.deleted = true
	if w := p.workload(); w != nil {
		w.touched = true
	}
}

func (f *fold) removed(ref trace.Ref) {
	if w, ok := f.works[ref]; ok {
		w.Gone = true
	}
	if s, ok := f.sets[ref]; ok {
		s.Gone = true
		if s.workload != nil {
			f.resize(s.workload)
		}
	}
	if p, ok := f.pods[ref]; ok && !p.removed {
		f.change(p, func() { f.goes(p); p.removed = true })
	}
}

func (f *fold) podChanged(e trace.Event, d trace.PodChanged) {
	p := f.pod(e.Object, d.Owner)
	if p.removed {
		return
	}
	f.change(p, func() {
		if d.Ready && !p.ready {
			p.readySince = f.now
		}
		p.phase, p.ready = d.Phase, d.Ready
		if d.Terminating {
			f.goes(p)
		}
		if d.Ready {
			p.Trouble = ""
		} else if d.Reason != "" {
			p.Trouble = d.Reason
		}
	})
}

func (f *fold) adopted(ref, owner trace.Ref) {
	switch {
	case ref.Kind == "Pod" && owner.Kind == "ReplicaSet":
		p := f.pod(ref, trace.Ref{})
		if p.Set != f.set(owner) || p.released {
			f.give(p, f.set(owner))
			f.change(p, func() {})
		}
	case ref.Kind == "ReplicaSet" && owner.Kind == "Deployment":
		f.own(f.set(ref), f.workload(owner))
	}
}

// home is the workload an event belongs to: by its object, else by the object
// of its nearest cause that has one.
func (f *fold) home(e trace.Event) *Workload {
	if w := f.homeOf(e.Object); w != nil {
		return w
	}
	if cause, ok := f.Index.At(e.Cause); ok && e.Cause < e.Seq && isOurs(e.Object.Kind) {
		if w := f.homes[cause]; w != nil {
			return w
		}
	}
	if e.Object.Kind == "Pod" {
		if s := f.setBehind(e); s != nil {
			return s.workload
		}
	}
	return nil
}

// isOurs says whether a kind belongs to a workload's own objects.
func isOurs(kind string) bool { return kind == "Pod" || kind == "ReplicaSet" }

func (f *fold) homeOf(ref trace.Ref) *Workload {
	if p, ok := f.pods[ref]; ok { // most events are about pods
		if p.Set != nil {
			return p.Set.workload
		}
		return nil
	}
	if ref.Kind == "Pod" {
		return nil
	}
	if w, ok := f.works[ref]; ok {
		return w
	}
	if s, ok := f.sets[ref]; ok {
		return s.workload
	}
	return nil
}
