// Package volume reads what pods' volumes mean for the parts of the world that
// must agree on them: the scheduler, the attach-detach controller and the kubelets.
package volume

import (
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// Claims are the names of the claims that a pod uses. Those of generic
// ephemeral volumes are named after pod and volume.
func Claims(pod *corev1.Pod) (out []string) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// Bound are the volumes that the claims of a pod are bound to, where both are
// in the world.
func Bound(world sim.Reader, pod *corev1.Pod) (out []*corev1.PersistentVolume) {
	for _, name := range Claims(pod) {
		claim, ok := Claim(world, pod.Namespace, name)
		if !ok || claim.Spec.VolumeName == "" {
			continue
		}
		if pv, ok := Volume(world, claim.Spec.VolumeName); ok {
			out = append(out, pv)
		}
	}
	return out
}

// Claim finds a claim.
func Claim(world sim.Reader, namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
	obj, _ := world.Get(sim.PersistentVolumeClaims, namespace, name)
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	return claim, ok
}

// Volume finds a volume.
func Volume(world sim.Reader, name string) (*corev1.PersistentVolume, bool) {
	obj, _ := world.Get(sim.PersistentVolumes, "", name)
	pv, ok := obj.(*corev1.PersistentVolume)
	return pv, ok
}

// Attachable volumes must be attached to a node before a pod there can mount
// them. Network file systems and paths of a node need nothing of the kind.
func Attachable(pv *corev1.PersistentVolume) bool {
	s := &pv.Spec.PersistentVolumeSource
	return s.CSI != nil || s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.AzureDisk != nil ||
		s.Cinder != nil || s.VsphereVolume != nil || s.FC != nil || s.ISCSI != nil
}

// Shared volumes may be attached to several nodes at once
// (pkg/volume/util IsMultiAttachAllowed).
func Shared(pv *corev1.PersistentVolume) bool {
	for _, mode := range pv.Spec.AccessModes {
		if mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany {
			return true
		}
	}
	return len(pv.Spec.AccessModes) == 0
}

// Attached says whether all attachable volumes of a pod are attached to a node.
func Attached(world sim.Reader, pod *corev1.Pod, node string) bool {
	for _, pv := range Bound(world, pod) {
		if !Attachable(pv) {
			continue
		}
		obj, _ := world.Get(sim.VolumeAttachments, "", AttachmentName(pv, node))
		if a, ok := obj.(*storagev1.VolumeAttachment); !ok || !a.Status.Attached || a.DeletionTimestamp != nil {
			return false
		}
	}
	return true
}

// AttachmentName is the name of the object by which a volume is attached to a
// node (pkg/volume/csi getAttachmentName).
func AttachmentName(pv *corev1.PersistentVolume, node string) string {
	handle, driver := pv.Name, Driver(pv)
	if pv.Spec.CSI != nil {
		handle = pv.Spec.CSI.VolumeHandle
	}
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+node)))
}

// Driver is who attaches a volume. Disks of clouds are attached by the CSI
// drivers that took over from the code in Kubernetes.
func Driver(pv *corev1.PersistentVolume) string {
	s := &pv.Spec.PersistentVolumeSource
	switch {
	case s.CSI != nil:
		return s.CSI.Driver
	case s.GCEPersistentDisk != nil:
		return "pd.csi.storage.gke.io"
	case s.AWSElasticBlockStore != nil:
		return "ebs.csi.aws.com"
	case s.AzureDisk != nil:
		return "disk.csi.azure.com"
	case s.Cinder != nil:
		return "cinder.csi.openstack.org"
	case s.VsphereVolume != nil:
		return "csi.vsphere.vmware.com"
	}
	return ""
}
