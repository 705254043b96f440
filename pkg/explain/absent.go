package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// absent explains a pod that is not there: it is gone, and Events tell of it, or
// it was never made, since the API server refuses its ReplicaSet's requests.
func (s *Snapshot) absent(ctx context.Context, namespace, name string) (*v1alpha1.ExplanationStatus, bool) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c := &podCase{Snapshot: s, pod: pod, set: s.setNamed(namespace, name), said: s.about(derive.Ref(pod))}
	pod.Spec.NodeName = c.scheduledTo()
	f, known := c.gone()
	if !known {
		if f, known = c.refused(); !known {
			return nil, false
		}
	}
	out := &v1alpha1.ExplanationStatus{Facts: s.facts(pod, c.set)}
	conclude(out, f)
	if c.set != nil {
		out.Pass = s.passes(ctx, c.set)
	}
	return out, true
}

// scheduledTo is the node that the scheduler's Event names.
func (c *podCase) scheduledTo() string {
	for _, e := range c.said {
		if e.Reason == "Scheduled" {
			_, node, _ := strings.Cut(e.Message, " to ")
			return node
		}
	}
	return ""
}

// gone is what Events tell of a pod that is no longer there.
func (c *podCase) gone() (v1alpha1.Finding, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicDeleted}
	if e := c.deletedBySet(c.pod.Name); e != nil {
		f.Time, f.From = moment(eventTime(e)), "event SuccessfulDelete of its ReplicaSet"
		c.shrunk(&f)
		return f, true
	}
	if len(c.said) == 0 {
		return f, false
	}
	if i := slices.IndexFunc(c.said, func(e *corev1.Event) bool { return throwsOut[e.Reason] }); i >= 0 {
		e := c.said[i]
		f.Time, f.From, f.Cause = moment(eventTime(e)), "event "+e.Reason, v1alpha1.CauseEvicted
		f.Message = strings.TrimSuffix("it was thrown out: "+e.Message, ": ")
		if lost, why := c.lost(c.pod.Spec.NodeName); lost && e.Reason == "TaintManagerEviction" {
			f.Cause, f.Object = v1alpha1.CauseNodeLost, nodeRef(c.pod.Spec.NodeName)
			f.Message = "taint eviction deleted it, since " + why
		}
		return f, true
	}
	last := c.said[len(c.said)-1]
	f.Time, f.Cause = moment(eventTime(last)), v1alpha1.CauseDeleted
	f.Message = "it is gone, and no Event tells that its ReplicaSet deleted it: a person or another program did"
	f.Inferred, f.From = true, "the Events about it, of which the last was "+last.Reason
	return f, true
}

// refused is a pod that a ReplicaSet cannot make. Any name that begins with the
// ReplicaSet's stands for it: a pod that was not made has none.
func (c *podCase) refused() (v1alpha1.Finding, bool) {
	if c.set == nil {
		return v1alpha1.Finding{}, false
	}
	f, ok := c.refusal(c.set)
	if ok {
		f.Message = "there is no such pod: " + f.Message
	}
	return f, ok
}

// refusal is why a ReplicaSet that lacks pods cannot make them.
func (s *Snapshot) refusal(rs *appsv1.ReplicaSet) (v1alpha1.Finding, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicPending, Object: derive.Ref(rs)}
	there, wanted := len(s.activeOf(rs)), int(rollout.Size(rs))
	if there >= wanted {
		return f, false
	}
	message := ""
	for _, cond := range rs.Status.Conditions {
		if cond.Type == appsv1.ReplicaSetReplicaFailure && cond.Status == corev1.ConditionTrue && cond.Reason == rollout.FailedCreateReason {
			message, f.From, f.Time = cond.Message, "condition ReplicaFailure of its ReplicaSet", moment(cond.LastTransitionTime.Time)
		}
	}
	for _, e := range s.about(derive.Ref(rs)) {
		if e.Reason == rollout.FailedCreateReason && message == "" {
			message, f.From, f.Time = strings.TrimPrefix(e.Message, "Error creating: "), "event FailedCreate of its ReplicaSet", moment(eventTime(e))
		}
	}
	if message == "" {
		return f, false
	}
	f.Cause = refusalCause(message)
	f.Message = fmt.Sprintf("replicaset %s has %d of %d pods and may not make more: %s", rs.Name, there, wanted, message)
	return f, true
}

// refusalCause tells a full quota from other refusals, by the words of the
// quota's admission.
func refusalCause(message string) v1alpha1.Cause {
	if strings.Contains(message, "exceeded quota:") || strings.Contains(message, "failed quota:") {
		return v1alpha1.CauseQuota
	}
	return v1alpha1.CauseRefused
}

// named is an object as kubectl names it: deployment/web.
func named(ref trace.Ref) string { return strings.ToLower(ref.Kind) + "/" + ref.Name }
