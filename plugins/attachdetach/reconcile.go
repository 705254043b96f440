package attachdetach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/volume"
)

// reconcile detaches first, so that volumes of pods that moved come free, and
// then attaches (reconciler/reconciler.go).
func (p *Plugin) reconcile() {
	wanted := map[place]bool{}
	for _, u := range p.order {
		u.volumes = slices.DeleteFunc(volume.Bound(p.h.Cached(), u.pod), func(pv *corev1.PersistentVolume) bool { return !volume.Attachable(pv) })
		for _, pv := range u.volumes {
			wanted[place{pv.Name, u.pod.Spec.NodeName}] = true
		}
	}
	var idle []place
	for at := range p.attached {
		if !wanted[at] {
			idle = append(idle, at)
		}
	}
	slices.SortStableFunc(idle, func(a, b place) int { return cmp.Or(cmp.Compare(a.volume, b.volume), cmp.Compare(a.node, b.node)) })
	for _, at := range idle {
		p.detach(at)
	}
	for _, u := range p.order {
		for _, pv := range u.volumes {
			p.attach(u, pv)
		}
	}
}

// detach deletes the attachment. The driver has detached the volume by the time
// the object is gone.
func (p *Plugin) detach(at place) {
	pv, ok := volume.Volume(p.h.Cached(), at.volume)
	if !ok {
		return
	}
	p.h.After(p.h.Latency(sim.CallLatency), func() {
		if err := p.h.Delete(sim.VolumeAttachments, "", volume.AttachmentName(pv, at.node), metav1.DeleteOptions{}); err != nil {
			return // gone already
		}
	})
}

// attach makes the attachment, unless it is there or another node has the volume.
func (p *Plugin) attach(u *user, pv *corev1.PersistentVolume) {
	at := place{pv.Name, u.pod.Spec.NodeName}
	if p.attached[at] {
		return
	}
	if others := p.elsewhere(at); len(others) > 0 && !volume.Shared(pv) {
		if !p.told[at] {
			p.told[at] = true
			for _, waiting := range p.usersOf(at) {
				p.tell(waiting, pv, others)
			}
		}
		return
	}
	p.attached[at] = true
	delete(p.told, at)
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: volume.AttachmentName(pv, at.node)},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: volume.Driver(pv), NodeName: at.node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name}}}
	a.Status.Attached = true
	p.h.After(p.h.Latency(sim.CallLatency), func() {
		if _, err := p.h.Create(a); err != nil {
			delete(p.attached, at)
			p.look()
			return
		}
		for _, served := range p.usersOf(at) {
			p.h.Event(served.pod, corev1.EventTypeNormal, "SuccessfulAttachVolume", fmt.Sprintf("AttachVolume.Attach succeeded for volume %q ", pv.Name))
		}
	})
}

// usersOf are the pods of a node that use a volume.
func (p *Plugin) usersOf(at place) (out []*user) {
	for _, u := range p.order {
		if u.pod.Spec.NodeName == at.node && u.uses(at.volume) {
			out = append(out, u)
		}
	}
	return out
}

func (u *user) uses(name string) bool {
	return slices.ContainsFunc(u.volumes, func(pv *corev1.PersistentVolume) bool { return pv.Name == name })
}

// elsewhere are the other nodes a volume is attached to.
func (p *Plugin) elsewhere(at place) map[string]bool {
	others := map[string]bool{}
	for have := range p.attached {
		if have.volume == at.volume && have.node != at.node {
			others[have.node] = true
		}
	}
	return others
}

// tell says once what the pod waits for; pods of other namespaces are not named
// (reconciler.go reportMultiAttachError).
func (p *Plugin) tell(u *user, pv *corev1.PersistentVolume, nodes map[string]bool) {
	var local []string
	foreign := 0
	for _, other := range p.order {
		switch {
		case !nodes[other.pod.Spec.NodeName] || !other.uses(pv.Name):
		case other.pod.Namespace == u.pod.Namespace:
			local = append(local, other.pod.Name)
		default:
			foreign++
		}
	}
	prefix, why := "Multi-Attach error", "Volume is already exclusively attached to one node and can't be attached to another"
	if p.h.Version().WaitsForDetach() {
		prefix, why = "Waiting for detach", "Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node"
	}
	if len(local) > 0 {
		why = "Volume is already used by pod(s) " + strings.Join(local, ", ")
		if foreign > 0 {
			why += fmt.Sprintf(" and %d pod(s) in different namespaces", foreign)
		}
	} else if foreign > 0 {
		why = fmt.Sprintf("Volume is already used by %d pod(s) in different namespaces", foreign)
	}
	p.h.Event(u.pod, corev1.EventTypeWarning, "FailedAttachVolume", fmt.Sprintf("%s for volume %q %s", prefix, pv.Name, why))
}
