package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/volume"
)

// unmounted is a pod whose volumes are not attached to its node yet.
type unmounted struct {
	l   *life
	pod *corev1.Pod
}

// watchVolumes starts pods when their volumes have been attached.
func (k *Plugin) watchVolumes() {
	k.h.Watch(sim.VolumeAttachments, func(engine.Change) {
		waiting := k.unmounted
		k.unmounted = nil
		for _, u := range waiting {
			switch {
			case u.l.buried || !u.l.exitAt.IsZero():
			case volume.Attached(k.h.Stored(), u.pod, u.l.node):
				u.l.start(k.h.Now())
			default:
				k.unmounted = append(k.unmounted, u)
			}
		}
	})
}

// mounts says whether a pod's volumes are there. A pod that has to wait for
// them is Pending until they are (volumemanager WaitForAttachAndMount).
func (k *Plugin) mounts(l *life, pod *corev1.Pod) bool {
	if len(pod.Spec.Volumes) == 0 || l.was.phase == corev1.PodRunning || volume.Attached(k.h.Stored(), pod, l.node) {
		return true
	}
	k.set(l, state{phase: corev1.PodPending})
	k.unmounted = append(k.unmounted, unmounted{l, pod})
	return false
}
