package explain

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// soon is within which time one thing is taken to have followed from another:
// stored times are whole seconds, and controllers may wait for their turn.
const soon = 5 * time.Second

// created is why the pod was made: by its ReplicaSet, in the place of another
// pod where one went at that time, or since its ReplicaSet was to grow.
func (c *podCase) created() (v1alpha1.Finding, bool) {
	if c.set == nil {
		return v1alpha1.Finding{}, false
	}
	at := c.pod.CreationTimestamp.Time
	f := v1alpha1.Finding{
		Topic: v1alpha1.TopicCreated, Time: moment(at), Object: derive.Ref(c.set), From: "its owner and creationTimestamp",
		Message: fmt.Sprintf("made by replicaset %s%s", c.set.Name, revision(c.set.Annotations)),
	}
	if gone, why := c.predecessor(at); gone != "" {
		f.Message += fmt.Sprintf(" in the place of %s: %s", gone, why)
		f.Inferred, f.From = true, "the times at which one went and the other came"
		return f, true
	}
	if e := c.grew(at); e != nil {
		f.Message += ", which was to grow: " + e.Message
		f.From = "event ScalingReplicaSet of its Deployment"
		return f, true
	}
	if first := at.Sub(c.set.CreationTimestamp.Time); first <= soon && !c.set.CreationTimestamp.IsZero() {
		f.Message += ", which was new and wanted its first pods"
		f.Inferred, f.From = true, "the times at which both were made"
	}
	return f, true
}

// predecessor is the pod of the same ReplicaSet that went just before a time,
// other than on its ReplicaSet's own wish, and why it went.
func (c *podCase) predecessor(at time.Time) (name, why string) {
	nearest := soon + 1
	consider := func(pod string, left time.Time, reason string) {
		if d := at.Sub(left); d >= -time.Second && d.Abs() < nearest {
			nearest, name, why = d.Abs(), pod, reason
		}
	}
	for _, kin := range c.Pods {
		if kin == c.pod || kin.Namespace != c.pod.Namespace {
			continue
		}
		other := c.podCase(kin)
		if other.set != c.set {
			continue
		}
		left := c.left(kin)
		if left.IsZero() {
			continue
		}
		if f := other.state(); f.Cause != v1alpha1.CauseRollout && f.Cause != v1alpha1.CauseScaledDown {
			consider(kin.Name, left, f.Message)
		}
	}
	for _, e := range c.Events {
		if e.InvolvedObject.Kind == "Pod" && e.InvolvedObject.Namespace == c.pod.Namespace && e.InvolvedObject.Name != c.pod.Name &&
			throwsOut[e.Reason] && c.setNamed(c.pod.Namespace, e.InvolvedObject.Name) == c.set {
			consider(e.InvolvedObject.Name, eventTime(e), e.Reason+": "+e.Message)
		}
	}
	return name, why
}

// throwsOut are the reasons of Events about pods that something else than their
// ReplicaSet makes go.
var throwsOut = map[string]bool{"TaintManagerEviction": true, "Evicted": true, "Preempted": true, "NodeShutdown": true}

// left is when a pod ceased to count for its ReplicaSet; zero when it counts.
func (s *Snapshot) left(pod *corev1.Pod) time.Time {
	switch {
	case pod.DeletionTimestamp != nil:
		return asked(pod)
	case rollout.IsPodTerminal(pod):
		return ended(pod)
	case metav1.GetControllerOfNoCopy(pod) == nil:
		at, _ := labelled(pod)
		return at
	}
	return time.Time{}
}

// ended is when a pod came to its end, as far as its status tells.
func ended(pod *corev1.Pod) time.Time {
	var at time.Time
	for _, cond := range pod.Status.Conditions {
		if (cond.Type == corev1.DisruptionTarget || cond.Type == corev1.PodReady) && cond.LastTransitionTime.After(at) {
			at = cond.LastTransitionTime.Time
		}
	}
	return at
}

// grew is the Event that tells of the ReplicaSet's growth just before a time.
func (c *podCase) grew(at time.Time) (found *corev1.Event) {
	d := c.owner(c.set)
	if d == nil {
		return nil
	}
	for _, e := range c.about(derive.Ref(d)) {
		since := at.Sub(eventTime(e))
		if e.Reason == "ScalingReplicaSet" && strings.HasPrefix(e.Message, "Scaled up replica set "+c.set.Name+" ") && since >= -time.Second && since <= soon {
			found = e
		}
	}
	return found
}

// own are the cluster's own managers of fields: the labels of a pod are theirs
// from its creation on, with the time of whatever they wrote last.
var own = map[string]bool{"kube-controller-manager": true, "kubelet": true, "kube-scheduler": true}

// labelled is when, and by whom, a pod's labels were written last after it was
// made, as its managed fields tell.
func labelled(pod *corev1.Pod) (at time.Time, by string) {
	for _, entry := range pod.ManagedFields {
		if entry.Time == nil || entry.FieldsV1 == nil || entry.Time.Before(&metav1.Time{Time: at}) || !entry.Time.After(pod.CreationTimestamp.Time) {
			continue
		}
		if !own[entry.Manager] && writesLabels(entry.FieldsV1) {
			at, by = entry.Time.Time, entry.Manager
		}
	}
	return at, by
}

func writesLabels(fields *metav1.FieldsV1) bool {
	var set struct {
		Metadata struct {
			Labels map[string]any `json:"f:labels"`
		} `json:"f:metadata"`
	}
	return json.Unmarshal(fields.GetRawBytes(), &set) == nil && len(set.Metadata.Labels) > 0
}
