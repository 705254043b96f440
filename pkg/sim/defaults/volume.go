package defaults

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// defaultMode is the mode of files from secrets, config maps and the like: 0644.
const defaultMode int32 = 0o644

// tokenSeconds is how long a projected service account token lives: an hour.
const tokenSeconds int64 = 3600

func volume(v *corev1.VolumeSource) {
	if reflect.ValueOf(*v).IsZero() {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	configVolume(v)
	storageVolume(v)
	if v.HostPath != nil {
		orElse(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.Image != nil {
		orString(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		claim := &v.Ephemeral.VolumeClaimTemplate.Spec
		orElse(&claim.VolumeMode, corev1.PersistentVolumeFilesystem)
		milli(claim.Resources.Limits)
		milli(claim.Resources.Requests)
	}
}

// configVolume is the volumes whose files come from the API.
func configVolume(v *corev1.VolumeSource) {
	if v.Secret != nil {
		orElse(&v.Secret.DefaultMode, defaultMode)
	}
	if v.ConfigMap != nil {
		orElse(&v.ConfigMap.DefaultMode, defaultMode)
	}
	if v.DownwardAPI != nil {
		orElse(&v.DownwardAPI.DefaultMode, defaultMode)
		downward(v.DownwardAPI.Items)
	}
	if v.Projected == nil {
		return
	}
	orElse(&v.Projected.DefaultMode, defaultMode)
	for i := range v.Projected.Sources {
		source := &v.Projected.Sources[i]
		if source.DownwardAPI != nil {
			downward(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			orElse(&source.ServiceAccountToken.ExpirationSeconds, tokenSeconds)
		}
	}
}

func downward(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		fieldRef(files[i].FieldRef)
	}
}

// storageVolume is the storage systems with in-tree defaults.
func storageVolume(v *corev1.VolumeSource) {
	if v.ISCSI != nil {
		orString(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		orString(&v.RBD.RBDPool, "rbd")
		orString(&v.RBD.RadosUser, "admin")
		orString(&v.RBD.Keyring, "/etc/ceph/keyring")
	}
	if v.AzureDisk != nil {
		orElse(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		orElse(&v.AzureDisk.FSType, "ext4")
		orElse(&v.AzureDisk.ReadOnly, false)
		orElse(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if v.ScaleIO != nil {
		orString(&v.ScaleIO.StorageMode, "ThinProvisioned")
		orString(&v.ScaleIO.FSType, "xfs")
	}
}
