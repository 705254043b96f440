// Package attachdetach is the attach-detach controller with the CSI drivers
// behind it: it attaches the volumes of pods to their nodes, and detaches them
// when no pod on the node uses them any more. A volume that admits one node
// keeps the pods of another waiting until then.
package attachdetach

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/volume"
)

// Actor is the plugin's name in the trace.
const Actor = "attachdetach"

// loopPeriod is how often the controller compares what is attached with what
// should be (attach_detach_controller.go ReconcilerLoopPeriod).
const loopPeriod = 100 * time.Millisecond

// Plugin is the controller.
type Plugin struct {
	h *sim.Hands
	// users are the pods that want a volume on their node, in order of arrival.
	users map[types.UID]*user
	order []*user
	// attached are the nodes that volumes are attached to.
	attached map[place]bool
	// told are the waits that have been told of (MultiAttachErrorReported).
	told  map[place]bool
	timer *sim.Timer
}

// place is a volume on a node.
type place struct{ volume, node string }

// user is a pod that uses volumes.
type user struct {
	pod     *corev1.Pod
	volumes []*corev1.PersistentVolume
}

// New makes the controller.
func New() *Plugin {
	return &Plugin{users: map[types.UID]*user{}, attached: map[place]bool{}, told: map[place]bool{}}
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return Actor }

// Start watches volumes, and once there is one, all else: most worlds have none.
func (p *Plugin) Start(h *sim.Hands) {
	p.h = h
	watching := false
	h.Watch(sim.PersistentVolumes, func(engine.Change) {
		if !watching {
			watching = true
			h.Watch(sim.VolumeAttachments, p.observeAttachment)
			h.Watch(sim.PersistentVolumeClaims, func(engine.Change) { p.look() })
			h.Follow(sim.Pods, p.observePod)
		}
		p.look()
	})
}

func (p *Plugin) observeAttachment(c engine.Change) {
	a, ok := c.New.(*storagev1.VolumeAttachment)
	if !ok || a.Spec.Source.PersistentVolumeName == nil {
		return
	}
	at := place{*a.Spec.Source.PersistentVolumeName, a.Spec.NodeName}
	if c.Verb == engine.Deleted {
		delete(p.attached, at)
		p.look()
	} else {
		p.attached[at] = true
	}
}

// observePod takes in a pod. One that has ended no longer uses its volumes:
// its kubelet unmounts them before it says so.
func (p *Plugin) observePod(c engine.Change, _ int) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok || len(pod.Spec.Volumes) == 0 || len(volume.Claims(pod)) == 0 {
		return
	}
	over := c.Verb == engine.Deleted || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	known := p.users[pod.UID]
	switch {
	case over && known != nil:
		delete(p.users, pod.UID)
		p.order = slices.DeleteFunc(p.order, func(u *user) bool { return u == known })
		p.look()
	case over || pod.Spec.NodeName == "":
	case known != nil:
		known.pod = pod
	default:
		u := &user{pod: pod}
		p.users[pod.UID] = u
		p.order = append(p.order, u)
		p.look()
	}
}

// look compares within one period. A loop that has nothing to compare is not run.
func (p *Plugin) look() {
	if p.timer != nil || len(p.order)+len(p.attached) == 0 {
		return
	}
	wait := time.Duration(0)
	if !p.h.Instant() && !p.h.Settling() {
		wait = loopPeriod
	}
	p.timer = p.h.After(wait, func() {
		p.timer = nil
		p.reconcile()
	})
}
