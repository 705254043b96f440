package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// recordedPod is a pod whose life is in a recording.
type recordedPod struct {
	*Recording
	ref      trace.Ref
	workload *timeline.Workload // nil when it belongs to none
	pod      *timeline.Pod      // nil likewise
	life     []trace.Event      // the events about it
}

// Pod explains a pod, or the lack of one whose ReplicaSet's name its own begins
// with; false when the recording tells of neither.
func (r *Recording) Pod(namespace, name string) (*v1alpha1.ExplanationStatus, bool) {
	p := &recordedPod{Recording: r, ref: trace.Ref{Kind: "Pod", Namespace: namespace, Name: name}}
	for _, e := range r.tl.Events {
		_, refused := e.Detail.(trace.Rejected)
		if e.Object == p.ref && !refused {
			p.life = append(p.life, e)
		}
	}
	for _, w := range r.tl.Workloads {
		for _, pod := range w.Pods {
			if pod.Object == p.ref {
				p.workload, p.pod = w, pod
			}
		}
	}
	if len(p.life) == 0 {
		return r.refused(p.ref)
	}
	out := &v1alpha1.ExplanationStatus{}
	f, key := p.state()
	f.From = "the recording"
	conclude(out, f)
	ends := []trace.Event{key}
	if created, ok := p.created(out); ok {
		ends = append(ends, created)
	}
	out.Chain = p.chain(ends...)
	return out, true
}

// state is what the pod's state comes down to, and the event that shows it.
func (p *recordedPod) state() (v1alpha1.Finding, trace.Event) {
	for _, look := range []func() (v1alpha1.Finding, trace.Event, bool){p.evicted, p.deleted, p.released, p.unschedulable, p.troubled} {
		if f, e, found := look(); found {
			return f, e
		}
	}
	return p.plain()
}

// last is the latest event of the pod's life that is of a kind.
func (p *recordedPod) last(is func(trace.Detail) bool) (trace.Event, bool) {
	for _, e := range slices.Backward(p.life) {
		if is(e.Detail) && !p.tl.Echo(e.Seq) {
			return e, true
		}
	}
	return trace.Event{}, false
}

func of[D trace.Detail](d trace.Detail) bool {
	_, ok := d.(D)
	return ok
}

// evicted is a pod that something else than its ReplicaSet threw out.
func (p *recordedPod) evicted() (v1alpha1.Finding, trace.Event, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicDeleted, Cause: v1alpha1.CauseEvicted}
	if e, ok := p.last(of[trace.Evicted]); ok {
		d := e.Detail.(trace.Evicted)
		f.Message = strings.TrimSuffix("evicted by "+d.By+": "+d.Message, ": ")
		return p.lostWith(f, e, d.By)
	}
	e, ok := p.last(func(d trace.Detail) bool {
		changed, is := d.(trace.PodChanged)
		return is && changed.Phase == "Failed" && changed.Reason != ""
	})
	if ok {
		f.Message = "failed: " + e.Detail.(trace.PodChanged).Reason
		if e.Detail.(trace.PodChanged).Reason != "Evicted" {
			f.Cause = v1alpha1.CauseEnded
		}
		return f, e, true
	}
	e, ok = p.last(of[trace.Deleted])
	if ok && nodeActors[e.Actor] {
		f.Message = strings.TrimSuffix("deleted by "+e.Actor+": "+e.Detail.(trace.Deleted).Reason, ": ")
		return p.lostWith(f, e, e.Actor)
	}
	return f, e, false
}

// nodeActors throw pods out for what happens to their node.
var nodeActors = map[string]bool{"tainteviction": true, "podgc": true, "nodelifecycle": true}

// lostWith is an eviction, which may be that of a node that fell silent.
func (p *recordedPod) lostWith(f v1alpha1.Finding, e trace.Event, by string) (v1alpha1.Finding, trace.Event, bool) {
	node := p.node()
	if lost, ok := p.nodeLost(node, e.Seq); ok && nodeActors[by] {
		f.Cause, f.Object = v1alpha1.CauseNodeLost, nodeRef(node)
		f.Message = "its node " + node + " was lost at " + at(lost) + "; " + f.Message
	}
	return f, e, true
}

func (p *recordedPod) node() string {
	if p.pod != nil {
		return p.pod.Node
	}
	if e, ok := p.last(of[trace.Scheduled]); ok {
		return e.Detail.(trace.Scheduled).Node
	}
	if e, ok := p.last(of[trace.Found]); ok {
		return e.Detail.(trace.Found).Node
	}
	return ""
}

// nodeLost is the event with which a node was lost before an event, and did not come back.
func (r *Recording) nodeLost(node string, before trace.Seq) (lost trace.Event, is bool) {
	for _, e := range r.tl.Events {
		if e.Seq >= before {
			break
		}
		if e.Object.Kind != "Node" || e.Object.Name != node {
			continue
		}
		down, up := false, false
		switch d := e.Detail.(type) {
		case trace.Heartbeat:
			down, up = d.State != "Resumed", d.State == "Resumed"
		case trace.ConditionChanged:
			down, up = d.Condition == "Ready" && d.Status != "True", d.Condition == "Ready" && d.Status == "True"
		case trace.Tainted:
			down = !d.Removed && (strings.Contains(d.Taint, "/unreachable") || strings.Contains(d.Taint, "/not-ready"))
		case trace.Removed:
			down = true
		}
		switch {
		case down && !is:
			lost, is = e, true
		case up:
			is = false
		}
	}
	return lost, is
}

// deleted is a pod that its ReplicaSet or a person asked to go.
func (p *recordedPod) deleted() (v1alpha1.Finding, trace.Event, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicDeleted, Cause: v1alpha1.CauseDeleted}
	e, ok := p.last(of[trace.Deleted])
	if !ok {
		e, ok = p.last(func(d trace.Detail) bool {
			changed, is := d.(trace.PodChanged)
			return of[trace.Removed](d) || is && changed.Terminating
		})
		f.Message = "it went, and the recording does not tell who asked for it"
		return f, e, ok
	}
	switch e.Actor {
	case trace.ActorReplicaSet:
		p.shrunk(&f, e)
	case "garbagecollector":
		f.Cause, f.Message = v1alpha1.CauseOwnerDeleted, "the garbage collector deleted it, as its owner was deleted"
	default:
		f.Message = "deleted by " + e.Actor
	}
	return f, e, true
}

// rolloutRules are the arithmetics by which one revision gives way to another.
var rolloutRules = map[trace.Rule]bool{
	trace.Surplus: true, trace.Unhealthy: true, trace.Available: true, trace.Recreate: true, trace.Saturated: true,
}

// shrunk says why the pod's ReplicaSet wanted fewer pods.
func (p *recordedPod) shrunk(f *v1alpha1.Finding, e trace.Event) {
	set := e.Detail.(trace.Deleted).Owner
	f.Object, f.Cause = set, v1alpha1.CauseScaledDown
	f.Message = "replicaset " + set.Name + " deleted it, since it had more pods than it wanted"
	scaled, ok := p.scaledBefore(set, e)
	if !ok {
		return
	}
	d := scaled.Detail.(trace.Scaled)
	f.Message = fmt.Sprintf("replicaset %s deleted it, since it was scaled %d -> %d at %s", set.Name, d.From, d.To, at(scaled))
	old := p.workload != nil && !p.workload.Bare() && !p.workload.IsNew(set.Name)
	if rolloutRules[d.Why] || d.Why == trace.Unexplained && old || d.Why == "" && old {
		f.Cause = v1alpha1.CauseRollout
		f.Message += " to make way for another revision"
		f.Inferred = !rolloutRules[d.Why]
	}
}

// scaledBefore is the last change of a ReplicaSet's size before an event.
func (r *Recording) scaledBefore(set trace.Ref, before trace.Event) (found trace.Event, ok bool) {
	for _, e := range r.tl.Events {
		if e.Seq >= before.Seq {
			break
		}
		if e.Object == set && of[trace.Scaled](e.Detail) && !r.tl.Echo(e.Seq) {
			found, ok = e, true
		}
	}
	return found, ok
}

func (p *recordedPod) released() (v1alpha1.Finding, trace.Event, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicOwner, Cause: v1alpha1.CauseOrphaned}
	e, ok := p.last(func(d trace.Detail) bool { return of[trace.Released](d) || of[trace.Adopted](d) })
	d, released := e.Detail.(trace.Released)
	if !ok || !released {
		return f, e, false
	}
	f.Object = d.Owner
	f.Message = "replicaset " + d.Owner.Name + " let it go and no longer counts it, since its labels do not match the selector any more"
	if label, changed := p.relabelled(e.Seq); changed != "" {
		f.Message += ": " + label.Actor + " changed " + changed + " at " + at(label)
		e = p.follow(e, label)
	}
	return f, e, true
}

// relabelled is the last change of the pod's labels before an event.
func (p *recordedPod) relabelled(before trace.Seq) (found trace.Event, what string) {
	for _, e := range p.life {
		d, ok := e.Detail.(trace.Changed)
		if !ok || e.Seq >= before {
			continue
		}
		for _, field := range d.Fields {
			if label, is := strings.CutPrefix(field.Path, "metadata.labels"); is {
				found, what = e, fmt.Sprintf("label %s from %q to %q", strings.Trim(label, ".[]\""), field.From, field.To)
			}
		}
	}
	return found, what
}

// follow keeps the later of two events: its causes hold the other, or it stands alone.
func (p *recordedPod) follow(e, other trace.Event) trace.Event {
	if e.Cause == 0 {
		e.Cause = other.Seq
	}
	return e
}
