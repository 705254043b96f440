package explain

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// podCase is a pod that is looked into.
type podCase struct {
	*Snapshot
	pod *corev1.Pod
	// set has the pod, or by its name had it; nil when neither is known.
	set *appsv1.ReplicaSet
	// owned: the pod names a controller.
	owned bool
	said  []*corev1.Event // about the pod, oldest first
}

func (s *Snapshot) podCase(pod *corev1.Pod) *podCase {
	c := &podCase{Snapshot: s, pod: pod, said: s.about(derive.Ref(pod))}
	owner := metav1.GetControllerOfNoCopy(pod)
	if c.owned = owner != nil; !c.owned {
		c.set = s.setNamed(pod.Namespace, pod.Name)
		return c
	}
	if rs, ok := find(s.ReplicaSets, pod.Namespace, owner.Name); ok && owner.Kind == "ReplicaSet" && rs.UID == owner.UID {
		c.set = rs
	}
	return c
}

// Pod explains a pod, also one that is gone or could not be made: then what
// Events and its ReplicaSet tell. False when nothing is known of it.
func (s *Snapshot) Pod(ctx context.Context, namespace, name string) (*v1alpha1.ExplanationStatus, bool) {
	pod, ok := find(s.Pods, namespace, name)
	if !ok {
		return s.absent(ctx, namespace, name)
	}
	c := s.podCase(pod)
	out := &v1alpha1.ExplanationStatus{Facts: s.facts(pod, c.set)}
	state := c.state()
	conclude(out, state)
	if eviction, ok := c.eviction(); ok {
		out.Findings = append(out.Findings, eviction)
	}
	if created, ok := c.created(); ok {
		out.Findings = append(out.Findings, created)
	}
	if c.set != nil {
		out.Pass = s.passes(ctx, c.set)
		if c.owned && rollout.IsPodActive(pod) {
			out.Victims = s.standing(ctx, c.set, pod)
		}
	}
	return out, true
}

// conclude makes a finding the answer.
func conclude(out *v1alpha1.ExplanationStatus, f v1alpha1.Finding) {
	f.Message = strings.TrimSpace(f.Message)
	out.Cause, out.Message, out.Inferred = f.Cause, f.Message, f.Inferred
	out.Findings = append(out.Findings, f)
}

// state is what the pod's state comes down to. What makes it go comes before
// what keeps it from running, and that before what keeps it from being ready.
func (c *podCase) state() v1alpha1.Finding {
	switch {
	case c.pod.DeletionTimestamp != nil:
		return c.leaving()
	case rollout.IsPodTerminal(c.pod):
		return c.ended()
	}
	for _, look := range []func() (v1alpha1.Finding, bool){c.orphaned, c.unscheduled, c.nodeLost, c.containers} {
		if f, found := look(); found {
			return f
		}
	}
	return c.readiness()
}

// asked is when the pod was asked to go; its timestamp is when its grace ends.
func asked(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	grace := int64(0)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = *pod.DeletionGracePeriodSeconds
	}
	return pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
}

// leaving is why the pod was asked to go.
func (c *podCase) leaving() v1alpha1.Finding {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicDeleted, Time: moment(asked(c.pod))}
	switch {
	case c.disrupted(&f):
	case c.owned && c.set == nil, c.set != nil && c.set.DeletionTimestamp != nil:
		f.Cause, f.Message = v1alpha1.CauseOwnerDeleted, "its ReplicaSet is deleted, and its pods with it"
		f.Inferred, f.From = true, "its owner, which is not there or on its way out"
	case c.set == nil:
		f.Cause, f.Message = v1alpha1.CauseDeleted, "it belongs to no ReplicaSet, so a person or another program deleted it"
		f.Inferred, f.From = true, "its missing owner"
	default:
		c.bySet(&f, asked(c.pod))
	}
	return f
}

// disrupted is what a DisruptionTarget condition says.
func (c *podCase) disrupted(f *v1alpha1.Finding) bool {
	for _, cond := range c.pod.Status.Conditions {
		if cond.Type != corev1.DisruptionTarget || cond.Status != corev1.ConditionTrue {
			continue
		}
		f.Cause, f.From = v1alpha1.CauseEvicted, "condition DisruptionTarget: "+cond.Reason
		f.Message = strings.TrimSpace(disruptionWords[cond.Reason] + parenthesis(cond.Message))
		if cond.Reason == "DeletionByPodGC" || cond.Reason == "DeletionByTaintManager" {
			if lost, why := c.lost(c.pod.Spec.NodeName); lost {
				f.Cause, f.Object = v1alpha1.CauseNodeLost, nodeRef(c.pod.Spec.NodeName)
				f.Message += ", since " + why
			}
		}
		return true
	}
	return false
}

var disruptionWords = map[string]string{
	"PreemptionByScheduler":  "the scheduler preempted it for a pod of higher priority",
	"EvictionByEvictionAPI":  "it was evicted through the eviction API, as kubectl drain does",
	"DeletionByTaintManager": "taint eviction deleted it, as it does not tolerate a taint of its node any longer",
	"DeletionByPodGC":        "the pod garbage collector deleted it",
	"TerminationByKubelet":   "the kubelet ended it to protect its node",
}

func parenthesis(message string) string {
	if message == "" {
		return ""
	}
	return " (" + message + ")"
}

// bySet is a deletion of a pod whose ReplicaSet is there: either the
// ReplicaSet's own, which leaves no gap, or somebody else's.
func (c *podCase) bySet(f *v1alpha1.Finding, at time.Time) {
	event := c.deletedBySet(c.pod.Name)
	switch {
	case event != nil:
		f.From = "event SuccessfulDelete of its ReplicaSet"
	case c.gap(at):
		f.Cause, f.Inferred = v1alpha1.CauseDeleted, true
		f.Message = "a person or another program deleted it: its ReplicaSet did not want fewer pods"
		f.From = "the pods of its ReplicaSet, which made another in its place or lacks one"
		return
	default:
		f.Inferred, f.From = true, "the size of its ReplicaSet, which made no pod in its place"
	}
	c.shrunk(f)
}

// shrunk says why a ReplicaSet wanted fewer pods: an old one gives way to the
// new one, a new one follows spec.replicas.
func (c *podCase) shrunk(f *v1alpha1.Finding) {
	f.Object = derive.Ref(c.set)
	if c.isNew(c.set) {
		f.Cause = v1alpha1.CauseScaledDown
		f.Message = fmt.Sprintf("replicaset %s deleted it, since fewer pods are wanted (%d now)", c.set.Name, rollout.Size(c.set))
		return
	}
	f.Cause = v1alpha1.CauseRollout
	f.Message = fmt.Sprintf("replicaset %s deleted it, since it gives way to %s (it wants %d now)", c.set.Name, c.successor(), rollout.Size(c.set))
}

// successor names the ReplicaSet that takes over.
func (c *podCase) successor() string {
	d := c.owner(c.set)
	if now := rollout.FindNewReplicaSet(d, c.setsOf(d)); now != nil {
		return "replicaset " + now.Name + revision(now.Annotations)
	}
	return "the template of deployment " + d.Name
}

func revision(annotations map[string]string) string {
	if r := annotations[rollout.RevisionAnnotation]; r != "" {
		return " of revision " + r
	}
	return ""
}

// deletedBySet is the Event with which the ReplicaSet told of deleting a pod.
func (c *podCase) deletedBySet(name string) *corev1.Event {
	if c.set == nil {
		return nil
	}
	for _, e := range c.about(derive.Ref(c.set)) {
		if e.Reason == "SuccessfulDelete" && e.Message == "Deleted pod: "+name {
			return e
		}
	}
	return nil
}

// gap says that the ReplicaSet lacks a pod, or made one at that time or since.
func (c *podCase) gap(at time.Time) bool {
	active := c.activeOf(c.set)
	if len(active) < int(rollout.Size(c.set)) {
		return true
	}
	for _, pod := range active {
		if !pod.CreationTimestamp.Time.Before(at) {
			return true
		}
	}
	return false
}

func nodeRef(name string) trace.Ref { return trace.Ref{Kind: "Node", Name: name} }

// moment is a time for an answer; nil for none.
func moment(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	out := metav1.NewMicroTime(t.UTC())
	return &out
}
