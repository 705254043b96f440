package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// watchPods begins to follow pods, once there is a node whose pods matter.
func (p *Plugin) watchPods() {
	if p.podsFrom.IsZero() {
		p.podsFrom = p.h.Now()
		p.h.Watch(sim.Pods, p.observePod)
	}
}

// observePod marks a pod that was given to a node that is not ready
// (processPod). Those that were there when the watch began are known already.
func (p *Plugin) observePod(c engine.Change) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok || c.Verb == engine.Deleted || pod.Spec.NodeName == "" {
		return
	}
	if old, ok := c.Old.(*corev1.Pod); ok && old.Spec.NodeName == pod.Spec.NodeName || !ok && p.podsFrom.Equal(p.h.Now()) {
		return
	}
	obj, ok := p.h.Cached().Get(sim.Nodes, "", pod.Spec.NodeName)
	if !ok {
		return
	}
	if node := obj.(*corev1.Node); !p.ready(node) && statusOf(node, corev1.NodeReady) != "" {
		p.markPods([]*corev1.Pod{pod}, node.Name, func() {})
	}
}

func (p *Plugin) podsOn(node string) (out []*corev1.Pod) {
	for _, obj := range p.h.Cached().List(sim.Pods, "") {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName == node {
			out = append(out, pod)
		}
	}
	return out
}

// markPods sets the Ready condition of a node's pods to false, one by one, and
// calls done after the last (MarkPodsNotReady).
func (p *Plugin) markPods(pods []*corev1.Pod, node string, done func()) {
	for _, pod := range pods {
		if i := readyIndex(pod); i >= 0 && pod.Status.Conditions[i].Status != corev1.ConditionFalse {
			p.calls.add(func() { p.markPod(pod, i, node) })
		}
	}
	p.calls.then(done)
}

func readyIndex(pod *corev1.Pod) int {
	return slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
}

// markPod writes the version that the controller knows, so that it may conflict
// with what the pod has become.
func (p *Plugin) markPod(pod *corev1.Pod, ready int, node string) {
	out := *pod
	out.Status.Conditions = slices.Clone(pod.Status.Conditions)
	c := &out.Status.Conditions[ready]
	c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(p.h.Now().Truncate(time.Second))
	_, err := p.h.UpdateStatus(&out)
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		p.retry[node] = true
		p.wake()
	}
	p.h.Event(pod, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
}
