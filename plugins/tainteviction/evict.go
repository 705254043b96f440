package tainteviction

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// A deletion that fails is tried again at once, so often and no more (deletePodHandler).
const (
	attempts = 5
	pause    = 10 * time.Millisecond
)

// evict deletes a pod. Its kubelet, when it is there, gives it its own grace.
func (p *Plugin) evict(key types.NamespacedName, why string) {
	obj, ok := p.h.Stored().Get(sim.Pods, key.Namespace, key.Name)
	if !ok {
		return
	}
	p.h.Under(p.h.Emit(refOf(key), trace.Evicted{By: p.Name(), Message: why}), func() {
		p.h.Event(obj, corev1.EventTypeNormal, "TaintManagerEviction", "Marking for deletion Pod "+key.String())
		p.h.After(p.h.Latency(sim.CallLatency), func() { p.attempt(key, attempts) })
	})
}

func (p *Plugin) attempt(key types.NamespacedName, left int) {
	if err := p.remove(key); err != nil && !apierrors.IsNotFound(err) && left > 1 {
		p.h.After(pause, func() { p.attempt(key, left-1) })
	}
}

// remove says in the pod's status why it goes and deletes it (addConditionAndDeletePod).
func (p *Plugin) remove(key types.NamespacedName) error {
	obj, ok := p.h.Stored().Get(sim.Pods, key.Namespace, key.Name)
	if !ok {
		return nil
	}
	if pod, isPod := obj.(*corev1.Pod); isPod && p.h.Version().DisruptionConditions() {
		if out, changed := marked(pod, p.h.Now(), p.h.Version().PodGeneration()); changed {
			if _, err := p.h.UpdateStatus(out); err != nil {
				return err
			}
		}
	}
	return p.h.Delete(sim.Pods, key.Namespace, key.Name, metav1.DeleteOptions{})
}

// marked is the pod with the condition that a taint disrupts it.
func marked(pod *corev1.Pod, now time.Time, generations bool) (*corev1.Pod, bool) {
	c := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
		Message: "Taint manager: deleting due to NoExecute taint", LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	if generations {
		c.ObservedGeneration = pod.Generation
	}
	out := *pod
	out.Status.Conditions = slices.Clone(pod.Status.Conditions)
	i := slices.IndexFunc(out.Status.Conditions, func(have corev1.PodCondition) bool { return have.Type == c.Type })
	if i < 0 {
		out.Status.Conditions = append(out.Status.Conditions, c)
		return &out, true
	}
	have := out.Status.Conditions[i]
	if have.Status == c.Status {
		c.LastTransitionTime = have.LastTransitionTime
	}
	out.Status.Conditions[i] = c
	return &out, have.Status != c.Status || have.Reason != c.Reason || have.Message != c.Message
}
