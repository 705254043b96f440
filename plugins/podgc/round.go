package podgc

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// round collects in upstream's order: too many ended pods, pods on nodes out of
// service, pods of nodes that are gone, deleted pods that never got a node.
func (p *Plugin) round() {
	p.next = nil
	stored := p.h.Stored().List(sim.Pods, "")
	pods := make([]*corev1.Pod, 0, len(stored))
	for _, obj := range stored {
		if pod, ok := obj.(*corev1.Pod); ok && !p.asked[pod.UID] {
			pods = append(pods, pod)
		}
	}
	p.surplus(pods)
	waiting := p.outOfService(pods)
	quarantined := p.orphans(pods)
	p.unscheduled(pods)
	switch {
	case quarantined:
		p.next = p.h.After(period+roundTime, p.round)
	case waiting:
		p.next = p.h.AfterIdle(period+roundTime, p.round)
	}
}

// surplus deletes the oldest ended pods beyond the threshold, evicted ones first (gcTerminated).
func (p *Plugin) surplus(pods []*corev1.Pod) {
	var ended []*corev1.Pod
	for _, pod := range pods {
		if isTerminated(pod) {
			ended = append(ended, pod)
		}
	}
	p.terminated = min(len(ended), maxTerminated)
	if len(ended) <= maxTerminated {
		return
	}
	inOrder(ended)
	for _, pod := range ended[:len(ended)-maxTerminated] {
		p.collect(pod, fmt.Sprintf("more than %d ended pods", maxTerminated), nil)
	}
}

// outOfService deletes pods that are terminating on nodes out of service; it
// reports whether others there may follow (gcTerminating).
func (p *Plugin) outOfService(pods []*corev1.Pod) (waiting bool) {
	if !p.h.Version().CollectsOutOfService() {
		return false
	}
	out := map[string]bool{}
	for _, obj := range p.h.Cached().List(sim.Nodes, "") {
		if node, ok := obj.(*corev1.Node); ok && outOfService(node) {
			out[node.Name] = true
		}
	}
	if len(out) == 0 {
		return false
	}
	var stuck []*corev1.Pod
	for _, pod := range pods {
		if !out[pod.Spec.NodeName] {
			continue
		}
		if pod.DeletionTimestamp != nil {
			stuck = append(stuck, pod)
		} else {
			waiting = true
		}
	}
	inOrder(stuck)
	for _, pod := range stuck {
		p.collect(pod, "terminating on a node out of service", nil)
	}
	return waiting
}

// orphans deletes the pods of nodes that are still missing after their
// quarantine; it reports whether any node is in it (gcOrphaned).
func (p *Plugin) orphans(pods []*corev1.Pod) (quarantined bool) {
	now := p.h.Now()
	known, named := map[string]bool{}, map[string]bool{}
	for _, node := range p.h.Cached().List(sim.Nodes, "") {
		known[node.GetName()] = true
	}
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if name == "" || known[name] {
			continue
		}
		named[name] = true
		if until, ok := p.missing[name]; !ok {
			p.missing[name] = now.Add(quarantine)
		} else if !now.Before(until) && !p.nodeThere(name) {
			p.collect(pod, "its node "+name+" no longer exists", p.gone(pod))
		}
	}
	for name, until := range p.missing {
		if !named[name] || !now.Before(until) {
			delete(p.missing, name)
		}
	}
	return len(p.missing) > 0
}

// gone is the condition of a pod whose node is gone.
func (p *Plugin) gone(pod *corev1.Pod) *corev1.PodCondition {
	c := &corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
		LastTransitionTime: metav1.NewTime(p.h.Now().Truncate(time.Second)),
	}
	if p.h.Version().PodGeneration() {
		c.ObservedGeneration = pod.Generation
	}
	return c
}

// unscheduled deletes pods that are terminating and have no node (gcUnscheduledTerminating).
func (p *Plugin) unscheduled(pods []*corev1.Pod) {
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil && pod.Spec.NodeName == "" {
			p.collect(pod, "terminating without a node", nil)
		}
	}
}

// inOrder is byEvictionAndCreationTimestamp.
func inOrder(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		if x, y := wasEvicted(a), wasEvicted(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

func wasEvicted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted"
}

// collect marks a pod as failed, unless it has ended, and removes it
// (markFailedAndDeletePodWithCondition).
func (p *Plugin) collect(pod *corev1.Pod, why string, c *corev1.PodCondition) {
	cause := p.causes[pod.Spec.NodeName]
	if cause == 0 {
		cause = p.h.Cause()
	}
	p.h.Under(cause, func() {
		p.h.Under(p.h.Emit(sim.RefOf(pod), trace.Evicted{By: p.Name(), Message: why}), func() {
			if p.fail(pod, c) == nil {
				zero := int64(0)
				if p.h.Delete(sim.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}) == nil {
					p.asked[pod.UID] = true
				}
			}
		})
	})
}

func (p *Plugin) fail(pod *corev1.Pod, c *corev1.PodCondition) error {
	obj, ok := p.h.Stored().Get(sim.Pods, pod.Namespace, pod.Name)
	if !ok || !p.h.Version().DisruptionConditions() {
		return nil
	}
	latest, ok := obj.(*corev1.Pod)
	if !ok || isTerminated(latest) {
		return nil
	}
	out := *latest
	out.Status.Phase = corev1.PodFailed
	if p.h.Version().PodGeneration() {
		out.Status.ObservedGeneration = latest.Generation
	}
	if c != nil {
		out.Status.Conditions = slices.DeleteFunc(slices.Clone(latest.Status.Conditions), func(have corev1.PodCondition) bool { return have.Type == c.Type })
		out.Status.Conditions = append(out.Status.Conditions, *c)
	}
	_, err := p.h.UpdateStatus(&out)
	return err
}
