package diagnosis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// volumes are why pods cannot have their disks: these are elsewhere, or another
// node has them.
func (p *patient) volumes() []relaxation {
	var found []relaxation
	for _, pv := range p.disks() {
		name, constraint := pv.Name, v1alpha1.Constraint{Type: v1alpha1.ConstraintVolume, Object: trace.Ref{Kind: "PersistentVolume", Name: pv.Name}}
		if p.waitsFor(pv) {
			constraint.Message = fmt.Sprintf("volume %s admits one node at a time (%s), and another has it", name, modes(pv))
			found = append(found, relaxation{Constraint: constraint, ways: []way{{
				change: "a volume in its place that several nodes may have (ReadWriteMany)",
				relaxed: disk(name, func(pv *corev1.PersistentVolume) {
					pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
				}),
			}}})
		}
		if p.hears("didn't match PersistentVolume's node affinity") && pv.Spec.NodeAffinity != nil || p.hears("had no available volume zone") && zoned(pv) {
			constraint.Message = fmt.Sprintf("volume %s is reached from some of the nodes only", name)
			found = append(found, relaxation{Constraint: constraint, ways: []way{{
				change: "a volume in its place that is reached from every node",
				relaxed: disk(name, func(pv *corev1.PersistentVolume) {
					pv.Spec.NodeAffinity = nil
					for _, label := range zoneLabels {
						delete(pv.Labels, label)
					}
				}),
			}}})
		}
	}
	return found
}

// zoneLabels are those by which volumes say where they are reached from.
var zoneLabels = []string{corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

func zoned(pv *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(zoneLabels, func(label string) bool { return pv.Labels[label] != "" })
}

func modes(pv *corev1.PersistentVolume) string {
	out := make([]string, len(pv.Spec.AccessModes))
	for i, mode := range pv.Spec.AccessModes {
		out[i] = string(mode)
	}
	return list(out)
}

// disks are the volumes that the template's claims are bound to.
func (p *patient) disks() (out []*corev1.PersistentVolume) {
	var bound []string
	for _, v := range p.template.Spec.Volumes {
		for _, obj := range p.search.Objects {
			claim, ok := obj.(*corev1.PersistentVolumeClaim)
			if ok && v.PersistentVolumeClaim != nil && claim.Namespace == p.Object.Namespace && claim.Name == v.PersistentVolumeClaim.ClaimName {
				bound = append(bound, claim.Spec.VolumeName)
			}
		}
	}
	for _, obj := range p.search.Objects {
		if pv, ok := obj.(*corev1.PersistentVolume); ok && slices.Contains(bound, pv.Name) {
			out = append(out, pv)
		}
	}
	return out
}

// waitsFor says whether one of the pods was told, by the attach-detach
// controller's Event, that another node has a volume: Multi-Attach error for volume "data" …
func (p *patient) waitsFor(pv *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(p.search.Plan.Events, func(e trace.Event) bool {
		told, ok := e.Detail.(trace.Recorded)
		return ok && told.Reason == "FailedAttachVolume" && slices.ContainsFunc(p.workload.Pods, func(pod *podOf) bool { return pod.Object == e.Object }) &&
			strings.Contains(told.Message, strconv.Quote(pv.Name))
	})
}

// disk edits one volume.
func disk(name string, change func(*corev1.PersistentVolume)) Relaxed {
	return Relaxed{Edit: func(obj Object) Object {
		pv, ok := obj.(*corev1.PersistentVolume)
		if !ok || pv.Name != name {
			return obj
		}
		pv = pv.DeepCopy()
		change(pv)
		return pv
	}}
}
