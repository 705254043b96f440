package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// ended is a pod whose containers will not run again.
func (c *podCase) ended() v1alpha1.Finding {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicDeleted, Cause: v1alpha1.CauseEnded, From: "status.phase " + string(c.pod.Status.Phase)}
	if c.disrupted(&f) {
		return f
	}
	status := c.pod.Status
	f.Message = strings.TrimSuffix(strings.ToLower(string(status.Phase))+": "+strings.TrimSuffix(status.Reason+": "+status.Message, ": "), ": ")
	switch status.Reason {
	case "Evicted", "Preempting", "NodeShutdown", "Terminated", "Shutdown":
		f.Cause, f.From = v1alpha1.CauseEvicted, "status.reason "+status.Reason
		f.Message = strings.TrimSuffix("the kubelet ended it: "+status.Message, ": ")
	case "NodeLost":
		f.Cause, f.Object = v1alpha1.CauseNodeLost, nodeRef(c.pod.Spec.NodeName)
	}
	return f
}

// orphaned is a pod that its ReplicaSet let go, or is about to.
func (c *podCase) orphaned() (v1alpha1.Finding, bool) {
	if c.set == nil || matches(c.set, c.pod.Labels) {
		return v1alpha1.Finding{}, false
	}
	f := v1alpha1.Finding{Topic: v1alpha1.TopicOwner, Cause: v1alpha1.CauseOrphaned, Object: derive.Ref(c.set)}
	what := fmt.Sprintf("%s, and its selector wants %s", labelWords(c.pod.Labels, c.wanted()), labelWords(c.wanted(), c.wanted()))
	if c.owned {
		f.Message = fmt.Sprintf("replicaset %s lets it go at its next pass: its labels have %s", c.set.Name, what)
		f.From = "its labels and the selector of its ReplicaSet"
		return f, true
	}
	f.Message = fmt.Sprintf("replicaset %s let it go and no longer counts it: its labels have %s", c.set.Name, what)
	f.Inferred, f.From = true, "its name, its labels and its missing owner"
	if at, by := labelled(c.pod); by != "" {
		f.Time, f.Message = moment(at), f.Message+"; "+by+" wrote its labels last"
	}
	return f, true
}

// wanted are the labels of the selector that the pod does not have so.
func (c *podCase) wanted() map[string]string {
	out := map[string]string{}
	if c.set.Spec.Selector == nil {
		return out
	}
	for key, value := range c.set.Spec.Selector.MatchLabels {
		if have, ok := c.pod.Labels[key]; !ok || have != value {
			out[key] = value
		}
	}
	return out
}

// labelWords writes the labels of some keys.
func labelWords(set, keys map[string]string) string {
	var parts []string
	for key := range keys {
		value, ok := set[key]
		if !ok {
			parts = append(parts, "no "+key)
			continue
		}
		parts = append(parts, key+"="+value)
	}
	if len(parts) == 0 {
		return "something else"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// unscheduled is a pod without a node.
func (c *podCase) unscheduled() (v1alpha1.Finding, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicPending, Cause: v1alpha1.CauseUnscheduled}
	if c.pod.Spec.NodeName != "" {
		return f, false
	}
	f.Message, f.From = "no scheduler has looked at it yet", "no condition PodScheduled"
	for _, cond := range c.pod.Status.Conditions {
		if cond.Type != corev1.PodScheduled || cond.Status != corev1.ConditionFalse {
			continue
		}
		f.From, f.Message, f.Time = "condition PodScheduled", strings.TrimSuffix(cond.Reason+": "+cond.Message, ": "), moment(cond.LastTransitionTime.Time)
		if cond.Reason == corev1.PodReasonUnschedulable {
			f.Cause, f.Message = v1alpha1.CauseUnschedulable, "no node takes it: "+cond.Message
		}
	}
	if node := c.pod.Status.NominatedNodeName; node != "" {
		f.Object, f.Message = nodeRef(node), f.Message+"; room is being made for it on "+node
	}
	return f, true
}

// imageTrouble are the reasons for which a container waits for its image.
var imageTrouble = map[string]bool{
	"ErrImagePull": true, "ImagePullBackOff": true, "InvalidImageName": true, "ErrImageNeverPull": true,
	"ImageInspectError": true, "RegistryUnavailable": true, "SignatureValidationFailed": true, "ErrInvalidImageName": true,
}

// containers is a container that cannot start or stay up.
func (c *podCase) containers() (v1alpha1.Finding, bool) {
	for _, list := range [][]corev1.ContainerStatus{c.pod.Status.InitContainerStatuses, c.pod.Status.ContainerStatuses} {
		for i := range list {
			if f, found := c.container(&list[i]); found {
				return f, true
			}
		}
	}
	return v1alpha1.Finding{}, false
}

func (c *podCase) container(s *corev1.ContainerStatus) (v1alpha1.Finding, bool) {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicPending, From: "status of container " + s.Name}
	if s.RestartCount > 0 || c.pod.Status.Phase == corev1.PodRunning {
		f.Topic = v1alpha1.TopicNotReady
	}
	waiting := s.State.Waiting
	switch {
	case waiting != nil && imageTrouble[waiting.Reason]:
		f.Cause = v1alpha1.CauseImage
		f.Message = strings.TrimSuffix(fmt.Sprintf("image %s of container %s cannot be pulled: %s: %s", s.Image, s.Name, waiting.Reason, waiting.Message), ": ")
		return f, true
	case waiting != nil && waiting.Reason == "CrashLoopBackOff":
		f.Cause, f.Message = v1alpha1.CauseCrashing, crashWords(s)+"; it is started again with growing delays"
		return f, true
	case waiting != nil && !atFirst[waiting.Reason]:
		f.Cause = v1alpha1.CauseConfig
		f.Message = strings.TrimSuffix(fmt.Sprintf("container %s cannot start: %s: %s", s.Name, waiting.Reason, waiting.Message), ": ")
		return f, true
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		f.Cause, f.Message = v1alpha1.CauseCrashing, crashWords(s)
		return f, true
	}
	return f, false
}

// atFirst are the reasons with which every container waits before it starts.
var atFirst = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// crashWords tell how a container ended last.
func crashWords(s *corev1.ContainerStatus) string {
	ended := s.State.Terminated
	if ended == nil {
		ended = s.LastTerminationState.Terminated
	}
	text := fmt.Sprintf("container %s ends again and again: %d restarts", s.Name, s.RestartCount)
	if ended == nil {
		return text
	}
	return text + fmt.Sprintf(", the last time with exit code %d%s", ended.ExitCode, parenthesis(ended.Reason))
}

// readiness is a pod whose containers have no trouble of their own.
func (c *podCase) readiness() v1alpha1.Finding {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicNotReady}
	ready := rollout.PodReadyCondition(c.pod)
	if ready != nil {
		f.Time, f.From = moment(ready.LastTransitionTime.Time), "condition Ready"
	}
	minReady := int32(0)
	if c.set != nil {
		minReady = c.set.Spec.MinReadySeconds
	}
	switch {
	case c.Version.IsPodAvailable(c.pod, minReady, c.Now):
		f.Topic, f.Cause, f.Message = v1alpha1.TopicState, v1alpha1.CauseAvailable, "it is ready and counts as available"
	case rollout.IsPodReady(c.pod):
		f.Cause, f.Message = v1alpha1.CauseSettling, fmt.Sprintf("ready, but not yet for minReadySeconds (%ds)", minReady)
		f.Time = moment(ready.LastTransitionTime.Add(seconds(minReady)))
	case c.pod.Status.Phase != corev1.PodRunning:
		f.Topic, f.Cause, f.Message = v1alpha1.TopicPending, v1alpha1.CauseStarting, "on its node, its containers are not running yet"+c.lastWarning()
	default:
		f.Cause, f.Message = v1alpha1.CauseNotReady, "running, and not ready"+c.notReady(ready)+c.lastWarning()
	}
	return f
}

// notReady is what the Ready condition says, and the gates that are closed.
func (c *podCase) notReady(ready *corev1.PodCondition) string {
	text := ""
	if ready != nil && ready.Message != "" {
		text = ": " + ready.Message
	}
	for _, gate := range c.pod.Spec.ReadinessGates {
		open := slices.ContainsFunc(c.pod.Status.Conditions, func(cond corev1.PodCondition) bool {
			return cond.Type == gate.ConditionType && cond.Status == corev1.ConditionTrue
		})
		if !open {
			text += "; its readiness gate " + string(gate.ConditionType) + " is not open"
		}
	}
	return text
}

// lastWarning is the latest Warning about the pod.
func (c *podCase) lastWarning() string {
	for _, e := range slices.Backward(c.said) {
		if e.Type == corev1.EventTypeWarning {
			return fmt.Sprintf("; its last warning was %s: %s", e.Reason, e.Message)
		}
	}
	return ""
}
