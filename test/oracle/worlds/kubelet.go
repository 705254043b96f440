package worlds

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// kubelet binds pods, makes most of them ready and ends those asked to go, each
// after a random time up to the one the script gives.
type kubelet struct {
	setting action
	h       *sim.Hands
}

func (*kubelet) Name() string { return "kubelet" }

func (k *kubelet) Start(h *sim.Hands) {
	k.h = h
	h.Watch(sim.Pods, k.observe)
}

func (k *kubelet) wait(what string) time.Duration {
	return time.Duration(k.h.Rand().Int64N(int64(k.setting.duration(what)) + 1))
}

func (k *kubelet) observe(c engine.Change) {
	pod := c.New.(*corev1.Pod)
	switch {
	case c.Verb == engine.Added && pod.DeletionTimestamp == nil:
		k.h.After(k.wait("bind"), func() { k.bind(pod) })
	case c.Verb == engine.Modified && pod.DeletionTimestamp != nil && c.Old.(*corev1.Pod).DeletionTimestamp == nil:
		k.h.After(k.wait("stop"), func() { k.end(pod) })
	}
}

// now is the pod as it is, if it is still the same one.
func (k *kubelet) now(pod *corev1.Pod) *corev1.Pod {
	obj, ok := k.h.Stored().Get(sim.Pods, pod.Namespace, pod.Name)
	if !ok || obj.GetUID() != pod.UID {
		return nil
	}
	return obj.DeepCopyObject().(*corev1.Pod)
}

func (k *kubelet) bind(pod *corev1.Pod) {
	if pod = k.now(pod); pod == nil || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
		return
	}
	if _, err := k.h.Bind(pod, []string{"n1", "n2", "n3"}[k.h.Rand().IntN(3)]); err == nil {
		k.h.After(k.wait("ready"), func() { k.start(pod) })
	}
}

func (k *kubelet) start(pod *corev1.Pod) {
	luck := k.h.Rand().IntN(100)
	if pod = k.now(pod); pod == nil || pod.DeletionTimestamp != nil || luck < k.setting.number("never") {
		return
	}
	phase, ready := corev1.PodRunning, corev1.ConditionTrue
	if luck >= 100-k.setting.number("crash") {
		phase, ready = corev1.PodFailed, corev1.ConditionFalse
	}
	setStatus(pod, phase, ready, k.h.Now())
	_, _ = k.h.UpdateStatus(pod)
}

func (k *kubelet) end(pod *corev1.Pod) {
	if pod = k.now(pod); pod == nil {
		return
	}
	setStatus(pod, corev1.PodFailed, corev1.ConditionFalse, k.h.Now())
	_, _ = k.h.UpdateStatus(pod)
	_ = k.h.Delete(sim.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}
