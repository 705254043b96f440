package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func (p *recordedPod) unschedulable() (v1alpha1.Finding, trace.Event, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicPending, Cause: v1alpha1.CauseUnschedulable}
	e, ok := p.last(func(d trace.Detail) bool { return of[trace.Unschedulable](d) || of[trace.Scheduled](d) })
	d, is := e.Detail.(trace.Unschedulable)
	if !ok || !is {
		return f, e, false
	}
	f.Message = "no node takes it: " + d.Message
	return f, e, true
}

// troubled is a pod whose containers do not come up or stay up, or whose node is lost.
func (p *recordedPod) troubled() (v1alpha1.Finding, trace.Event, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicNotReady}
	if node := p.node(); node != "" {
		if lost, ok := p.nodeLost(node, 1<<62); ok {
			f.Cause, f.Object, f.Message = v1alpha1.CauseNodeLost, nodeRef(node), "its node "+node+" is lost since "+at(lost)
			return f, lost, true
		}
	}
	e, ok := p.last(of[trace.PodChanged])
	if !ok {
		return f, e, false
	}
	d := e.Detail.(trace.PodChanged)
	exit, exited := p.last(of[trace.Exited])
	switch {
	case d.Ready, d.Phase == "Succeeded":
		return f, e, false
	case imageTrouble[d.Reason]:
		f.Topic, f.Cause, f.Message = v1alpha1.TopicPending, v1alpha1.CauseImage, "an image cannot be pulled: "+d.Reason
		if said := p.warned("image "); said != "" {
			f.Message += ": " + said
		}
	case exited && exit.Seq < e.Seq+1 || d.Reason == "CrashLoopBackOff":
		f.Cause, f.Message = v1alpha1.CauseCrashing, "its containers end again and again"
		if x, ok := exit.Detail.(trace.Exited); ok {
			f.Message = fmt.Sprintf("container %s ends again and again: %d restarts, the last time with exit code %d%s", x.Container, x.Restarts, x.Code, parenthesis(x.Reason))
		}
	case d.Reason != "":
		f.Cause, f.Message = v1alpha1.CauseConfig, "a container cannot start: "+d.Reason
	default:
		return f, e, false
	}
	return f, e, true
}

// warned is the last Warning about the pod that has a word.
func (p *recordedPod) warned(word string) string {
	e, ok := p.last(func(d trace.Detail) bool {
		r, is := d.(trace.Recorded)
		return is && r.EventType == "Warning" && strings.Contains(r.Message, word)
	})
	if !ok {
		return ""
	}
	return e.Detail.(trace.Recorded).Message
}

// plain is a pod without trouble: how far it has come.
func (p *recordedPod) plain() (v1alpha1.Finding, trace.Event) {
	last := p.life[len(p.life)-1]
	f := v1alpha1.Finding{Topic: v1alpha1.TopicState, Cause: v1alpha1.CauseAvailable, Message: "it is ready and counts as available"}
	if e, ok := p.last(of[trace.PodChanged]); ok {
		last = e
	}
	state := timeline.Available
	if p.pod != nil {
		state = p.pod.State()
	}
	switch state {
	case timeline.Pending:
		f.Topic, f.Cause, f.Message = v1alpha1.TopicPending, v1alpha1.CauseStarting, "on its node, its containers are not running yet"
		if p.pod.Node == "" {
			f.Cause, f.Message = v1alpha1.CauseUnscheduled, "no scheduler has looked at it yet"
		}
	case timeline.Running:
		f.Topic, f.Cause, f.Message = v1alpha1.TopicNotReady, v1alpha1.CauseNotReady, "running, and not ready"
		if said := p.warned(""); said != "" {
			f.Message += "; its last warning was " + said
		}
	case timeline.Ready:
		f.Topic, f.Cause, f.Message = v1alpha1.TopicNotReady, v1alpha1.CauseSettling, fmt.Sprintf("ready, but not yet for minReadySeconds (%ds)", p.workload.Spec().MinReadySeconds)
	case timeline.Ended:
		f.Topic, f.Cause, f.Message = v1alpha1.TopicDeleted, v1alpha1.CauseEnded, "its containers ended and do not run again"
	}
	return f, last
}

// created is why the pod was made, and the event: in the place of a pod that
// went otherwise than by its ReplicaSet's own wish, or since that was to grow.
func (p *recordedPod) created(out *v1alpha1.ExplanationStatus) (trace.Event, bool) {
	i := slices.IndexFunc(p.life, func(e trace.Event) bool { return of[trace.Created](e.Detail) })
	if i < 0 {
		return trace.Event{}, false
	}
	e := p.life[i]
	set := e.Detail.(trace.Created).Owner
	f := v1alpha1.Finding{Topic: v1alpha1.TopicCreated, Object: set, From: "the recording", Message: "made by replicaset " + set.Name + " at " + at(e)}
	if set.Name == "" {
		f.Message = "made by " + e.Actor + " at " + at(e)
	}
	for _, cause := range p.path(e) {
		if d, ok := cause.Detail.(trace.Scaled); ok {
			f.Message += fmt.Sprintf(", which was scaled %d -> %d at %s", d.From, d.To, at(cause))
			break
		}
		if cause.Object.Kind != "Pod" || cause.Object == p.ref {
			continue
		}
		if other, ok := p.Pod(cause.Object.Namespace, cause.Object.Name); ok && goes[other.Cause] {
			f.Message += " in the place of " + cause.Object.Name + ": " + other.Message
			break
		}
	}
	out.Findings = append(out.Findings, f)
	return e, true
}

// goes are the causes for which a ReplicaSet makes another pod.
var goes = map[v1alpha1.Cause]bool{
	v1alpha1.CauseNodeLost: true, v1alpha1.CauseEvicted: true, v1alpha1.CauseDeleted: true, v1alpha1.CauseOrphaned: true, v1alpha1.CauseEnded: true,
}

// refused explains the lack of pods of the ReplicaSet that a name begins with.
func (r *Recording) refused(ref trace.Ref) (*v1alpha1.ExplanationStatus, bool) {
	set, there, wanted, ok := r.setNamed(ref)
	if !ok || there >= wanted {
		return nil, false
	}
	for _, e := range slices.Backward(r.tl.Events) {
		d, ok := e.Detail.(trace.Rejected)
		if !ok || e.Object.Kind != "Pod" || e.Object.Namespace != ref.Namespace || !strings.HasPrefix(e.Object.Name, set.Name) {
			continue
		}
		message := d.Message
		if d.By != "" && !strings.Contains(message, d.By) {
			message = d.By + ": " + message
		}
		out := &v1alpha1.ExplanationStatus{Chain: r.chain(e)}
		conclude(out, v1alpha1.Finding{
			Topic: v1alpha1.TopicPending, Cause: refusalCause(message), Object: set, From: "the recording",
			Message: fmt.Sprintf("there is no such pod: replicaset %s has %d of %d pods and may not make more: %s", set.Name, there, wanted, message),
		})
		return out, true
	}
	return nil, false
}

// setNamed is the ReplicaSet that a pod's name begins with, and how many pods it
// has and wants.
func (r *Recording) setNamed(pod trace.Ref) (set trace.Ref, there, wanted int, ok bool) {
	for _, w := range r.tl.Workloads {
		for _, s := range w.Sets {
			if s.Object.Namespace != pod.Namespace || !strings.HasPrefix(pod.Name, s.Object.Name+"-") || ok && len(s.Object.Name) < len(set.Name) {
				continue
			}
			set, there, wanted, ok = s.Object, 0, int(s.Now()), true
			for _, p := range w.Pods {
				if p.Set == s && p.Active() {
					there++
				}
			}
		}
	}
	return set, there, wanted, ok
}

// at is when an event happened.
func at(e trace.Event) string { return fmt.Sprintf("%.3fs", e.Offset.Seconds()) }
