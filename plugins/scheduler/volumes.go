package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/volume"
)

// volumes is what a pod's volumes ask of a node.
type volumes struct {
	disks     []corev1.Volume // of kinds that pods on a node may not share
	exclusive []string        // claims that one pod at a time may use
	bound     []*corev1.PersistentVolume
	zones     []zoned
	loose     []loose // claims that wait for their first pod
	missing   bool    // a claim is bound to a volume that does not exist
}

// zoned is a volume that is reached from some zones or regions only.
type zoned struct {
	label  string
	values []string
}

// loose is a claim without a volume whose class waits for the first pod.
type loose struct {
	claim *corev1.PersistentVolumeClaim
	class *storagev1.StorageClass
	among []*corev1.PersistentVolume
}

// claimsOf names the claims a pod uses, with its namespace.
func claimsOf(pod *corev1.Pod) []string {
	if len(pod.Spec.Volumes) == 0 {
		return nil
	}
	names := volume.Claims(pod)
	for i, name := range names {
		names[i] = pod.Namespace + "/" + name
	}
	return names
}

// readVolumes looks a pod's volumes up. Where the world has no claims at all,
// nobody said what they are, and they are taken to be reachable from anywhere.
func (c *cluster) readVolumes(p *pending) {
	v := &volumes{}
	known := false
	for i := range p.pod.Spec.Volumes {
		if isDisk(&p.pod.Spec.Volumes[i]) {
			v.disks = append(v.disks, p.pod.Spec.Volumes[i])
			known = true
		}
	}
	for _, name := range volume.Claims(p.pod) {
		claim, ok := volume.Claim(c.world, p.pod.Namespace, name)
		if !ok && len(c.world.List(sim.PersistentVolumeClaims, "")) == 0 {
			continue
		}
		known = true
		if p.barred = c.readClaim(v, p.pod, name, claim); p.barred != "" {
			return
		}
	}
	if known {
		p.volumes = v
	}
}

// readClaim is what one claim asks; the answer is why the pod cannot be placed
// at all (volumebinding PreFilter).
func (c *cluster) readClaim(v *volumes, pod *corev1.Pod, name string, claim *corev1.PersistentVolumeClaim) string {
	switch {
	case claim == nil && isEphemeral(pod, name):
		return fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
	case claim == nil:
		return fmt.Sprintf("persistentvolumeclaim %q not found", name)
	case claim.Status.Phase == corev1.ClaimLost:
		return fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", name, claim.Spec.VolumeName)
	case claim.DeletionTimestamp != nil:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", name)
	}
	if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
		v.exclusive = append(v.exclusive, pod.Namespace+"/"+name)
	}
	if claim.Spec.VolumeName == "" {
		c.readLoose(v, claim)
		return ""
	}
	pv, ok := volume.Volume(c.world, claim.Spec.VolumeName)
	if !ok {
		v.missing = true
		return ""
	}
	v.bound = append(v.bound, pv)
	v.zones = append(v.zones, zonesOf(pv)...)
	return ""
}

func isEphemeral(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Ephemeral != nil && pod.Name+"-"+v.Name == claim
	})
}

// readLoose reads an unbound claim. One whose class is not in the world, or does
// not wait for a pod, is taken to be provisioned at once wherever it is needed:
// no provisioner runs in this world.
func (c *cluster) readLoose(v *volumes, claim *corev1.PersistentVolumeClaim) {
	name := storagehelpers.GetPersistentVolumeClaimClass(claim)
	obj, _ := c.world.Get(sim.StorageClasses, "", name)
	class, ok := obj.(*storagev1.StorageClass)
	if !ok || class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return
	}
	l := loose{claim: claim, class: class}
	for _, obj := range c.world.List(sim.PersistentVolumes, "") {
		if pv, ok := obj.(*corev1.PersistentVolume); ok && pv.Spec.StorageClassName == name {
			l.among = append(l.among, available(pv))
		}
	}
	v.loose = append(v.loose, l)
}

// available is a volume as the volume controller, which does not run here, would
// have marked it.
func available(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	if pv.Status.Phase != "" && pv.Status.Phase != corev1.VolumePending || pv.Spec.ClaimRef != nil {
		return pv
	}
	out := *pv
	out.Status.Phase = corev1.VolumeAvailable
	return &out
}

// zoneLabels are those by which volumes say where they are reached from.
var zoneLabels = []string{corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

// severalZones separates the zones in one label.
const severalZones = "__"

func zonesOf(pv *corev1.PersistentVolume) (out []zoned) {
	for _, label := range zoneLabels {
		if value, ok := pv.Labels[label]; ok {
			out = append(out, zoned{label, strings.Split(value, severalZones)})
		}
	}
	return out
}

// volumeRestrictions keeps pods from sharing what cannot be shared
// (volumerestrictions/volume_restrictions.go).
type volumeRestrictions struct{}

func (volumeRestrictions) skips(p *pending) bool { return p.volumes == nil }

func (volumeRestrictions) refuses(p *pending, n *node) *refusal {
	if p.volumes == nil {
		return nil
	}
	for i := range p.volumes.disks {
		for _, other := range n.pods {
			if clashes(&p.volumes.disks[i], other.pod) {
				return refuse(false, "node(s) had no available disk")
			}
		}
	}
	for _, claim := range p.volumes.exclusive {
		if p.used(claim) {
			return refuse(false, "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod")
		}
	}
	return nil
}

func (p *pending) used(claim string) bool { return p.cluster.claims[claim] > 0 }

func isDisk(v *corev1.Volume) bool {
	return v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.ISCSI != nil || v.RBD != nil
}

// clashes says whether a pod uses the same disk in a way that does not admit another.
func clashes(v *corev1.Volume, pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(o corev1.Volume) bool {
		switch {
		case v.GCEPersistentDisk != nil && o.GCEPersistentDisk != nil:
			return v.GCEPersistentDisk.PDName == o.GCEPersistentDisk.PDName && !(v.GCEPersistentDisk.ReadOnly && o.GCEPersistentDisk.ReadOnly)
		case v.AWSElasticBlockStore != nil && o.AWSElasticBlockStore != nil:
			return v.AWSElasticBlockStore.VolumeID == o.AWSElasticBlockStore.VolumeID
		case v.ISCSI != nil && o.ISCSI != nil:
			return v.ISCSI.IQN == o.ISCSI.IQN && !(v.ISCSI.ReadOnly && o.ISCSI.ReadOnly)
		case v.RBD != nil && o.RBD != nil:
			return sameRBD(v.RBD, o.RBD) && !(v.RBD.ReadOnly && o.RBD.ReadOnly)
		}
		return false
	})
}

func sameRBD(a, b *corev1.RBDVolumeSource) bool {
	shared := slices.ContainsFunc(a.CephMonitors, func(m string) bool { return slices.Contains(b.CephMonitors, m) })
	return shared && a.RBDPool == b.RBDPool && a.RBDImage == b.RBDImage
}

// volumeBinding is whether bound volumes are reached from the node and unbound
// claims can be served there (volumebinding/binder.go FindPodVolumes).
type volumeBinding struct{}

const errVolumeNode = "node(s) didn't match PersistentVolume's node affinity"

func (volumeBinding) skips(p *pending) bool { return p.volumes == nil }

func (volumeBinding) refuses(p *pending, n *node) *refusal {
	if p.volumes == nil {
		return nil
	}
	var reasons []string
	for _, pv := range p.volumes.bound {
		if err := storagehelpers.CheckNodeAffinity(pv, n.obj.Labels); err != nil {
			reasons = append(reasons, errVolumeNode)
			break
		}
	}
	if !p.volumes.served(n) {
		reasons = append(reasons, "node(s) didn't find available persistent volumes to bind")
	}
	if p.volumes.missing && !slices.Contains(reasons, errVolumeNode) {
		reasons = append(reasons, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
	}
	if len(reasons) == 0 {
		return nil
	}
	return refuse(true, reasons...)
}

// served says whether each unbound claim finds a volume, or can have one made.
func (v *volumes) served(n *node) bool {
	found := v.match(n)
	for i, l := range v.loose {
		if found[i] == nil && !l.provisioned(n) {
			return false
		}
	}
	return true
}

// match finds a volume that exists for each unbound claim, nil where there is none.
func (v *volumes) match(n *node) []*corev1.PersistentVolume {
	out := make([]*corev1.PersistentVolume, len(v.loose))
	taken := map[string]*corev1.PersistentVolume{}
	for i, l := range v.loose {
		if pv, err := storagehelpers.FindMatchingVolume(l.claim, l.among, n.obj, taken, true, true); err == nil && pv != nil {
			out[i], taken[pv.Name] = pv, pv
		}
	}
	return out
}

// provisioned says whether the class may make a volume for the node.
func (l loose) provisioned(n *node) bool {
	if l.class.Provisioner == "" || l.class.Provisioner == storagehelpers.NotSupportedProvisioner {
		return false
	}
	return len(l.class.AllowedTopologies) == 0 || slices.ContainsFunc(l.class.AllowedTopologies, func(t corev1.TopologySelectorTerm) bool {
		return len(t.MatchLabelExpressions) > 0 && !slices.ContainsFunc(t.MatchLabelExpressions, func(e corev1.TopologySelectorLabelRequirement) bool {
			value, ok := n.obj.Labels[e.Key]
			return !ok || !slices.Contains(e.Values, value)
		})
	})
}

// volumeZone holds volumes' zone labels against the node's (volumezone/volume_zone.go).
type volumeZone struct{}

func (volumeZone) skips(p *pending) bool { return p.volumes == nil }

func (volumeZone) refuses(p *pending, n *node) *refusal {
	if p.volumes == nil || !slices.ContainsFunc(zoneLabels, func(l string) bool { _, ok := n.obj.Labels[l]; return ok }) {
		return nil
	}
	for _, z := range p.volumes.zones {
		if !z.has(n.obj.Labels) {
			return refuse(true, "node(s) had no available volume zone")
		}
	}
	return nil
}

// has looks for the label of today where a node does not have the old one.
func (z zoned) has(node map[string]string) bool {
	value, ok := node[z.label]
	if !ok {
		switch z.label {
		case corev1.LabelFailureDomainBetaZone:
			value, ok = node[corev1.LabelTopologyZone]
		case corev1.LabelFailureDomainBetaRegion:
			value, ok = node[corev1.LabelTopologyRegion]
		}
	}
	return ok && slices.Contains(z.values, value)
}
