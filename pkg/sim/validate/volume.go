package validate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkVolumes checks all volumes and remembers those without errors: mounts of
// the others are reported as not found. Source: ValidateVolumes.
func (c *podChecker) checkVolumes(path *field.Path) field.ErrorList {
	c.volumes = map[string]*corev1.VolumeSource{}
	created := c.createdClaims()
	var all field.ErrorList
	for i := range c.spec.Volumes {
		v, at := &c.spec.Volumes[i], path.Index(i)
		errs := join(
			c.volumeSource(v, at),
			requiredAnd(at.Child("name"), v.Name, validation.IsDNS1123Label),
			when(c.volumes[v.Name] != nil, field.Duplicate(at.Child("name"), v.Name)),
		)
		if len(errs) == 0 {
			c.volumes[v.Name] = &v.VolumeSource
		}
		all = append(all, errs...)
		if claim := v.PersistentVolumeClaim; claim != nil && created.Has(claim.ClaimName) {
			all = append(all, field.Invalid(at.Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume"))
		}
	}
	return all
}

// createdClaims are the names of the claims made for the pod's own volumes.
func (c *podChecker) createdClaims() sets.Set[string] {
	names := sets.New[string]()
	for _, v := range c.spec.Volumes {
		if v.Ephemeral != nil && c.isPod() && c.meta.Name != "" {
			names.Insert(c.meta.Name + "-" + v.Name)
		}
	}
	return names
}

// source is one kind of volume, or of value for a variable; check is nil when it
// is not used. What a volume is called when refused and where it is checked can
// differ, upstream.
type source struct {
	refusedAs, checkedAs string
	check                func(path *field.Path) field.ErrorList
}

// of makes a source of a pointer that may be nil.
func of[T any](name string, v *T, check func(*T, *field.Path) field.ErrorList) source {
	return ofAs(name, name, v, check)
}

func ofAs[T any](refused, checked string, v *T, check func(*T, *field.Path) field.ErrorList) source {
	s := source{refusedAs: refused, checkedAs: checked}
	if v != nil {
		s.check = func(path *field.Path) field.ErrorList { return check(v, path) }
	}
	return s
}

// volumeSource demands exactly one source. Of several, the first is checked and
// the others are refused. Source: validateVolumeSource.
func (c *podChecker) volumeSource(v *corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	found := false
	for _, s := range c.sources(&v.VolumeSource) {
		switch {
		case s.check == nil:
			continue
		case found:
			errs = append(errs, field.Forbidden(path.Child(s.refusedAs), "may not specify more than 1 volume type"))
			if s.refusedAs == "iscsi" {
				errs = append(errs, portalLength(v, path)...)
			}
			continue
		}
		found = true
		errs = append(errs, s.check(path.Child(s.checkedAs))...)
		switch s.refusedAs {
		case "iscsi":
			errs = append(errs, portalLength(v, path)...)
		case "ephemeral":
			errs = append(errs, c.createdClaimName(v, path)...)
		}
	}
	return append(errs, when(!found, field.Required(path, "must specify a volume type"))...)
}

// sources lists the kinds of volumes in upstream's order, its slips included.
func (c *podChecker) sources(v *corev1.VolumeSource) []source {
	return []source{
		of("emptyDir", v.EmptyDir, emptyDir),
		of("hostPath", v.HostPath, hostPath),
		of("gitRepo", v.GitRepo, gitRepo),
		ofAs("gcePersistentDisk", "persistentDisk", v.GCEPersistentDisk, gceDisk),
		of("awsElasticBlockStore", v.AWSElasticBlockStore, awsDisk),
		of("secret", v.Secret, secret),
		of("nfs", v.NFS, nfs),
		of("iscsi", v.ISCSI, iscsi),
		of("glusterfs", v.Glusterfs, glusterfs),
		of("flocker", v.Flocker, flocker),
		of("persistentVolumeClaim", v.PersistentVolumeClaim, claimReference),
		of("rbd", v.RBD, rbd),
		of("cinder", v.Cinder, cinder),
		ofAs("cephFS", "cephfs", v.CephFS, cephFS),
		of("quobyte", v.Quobyte, quobyte),
		ofAs("downwarAPI", "downwardAPI", v.DownwardAPI, downwardAPI),
		of("fc", v.FC, fibreChannel),
		of("flexVolume", v.FlexVolume, flexVolume),
		of("configMap", v.ConfigMap, configMap),
		of("azureFile", v.AzureFile, azureFile),
		of("vsphereVolume", v.VsphereVolume, vsphere),
		of("photonPersistentDisk", v.PhotonPersistentDisk, photon),
		of("portworxVolume", v.PortworxVolume, portworx),
		of("azureDisk", v.AzureDisk, azureDisk),
		of("storageos", v.StorageOS, storageOS),
		of("projected", v.Projected, c.projected),
		of("scaleIO", v.ScaleIO, scaleIO),
		of("csi", v.CSI, csi),
		of("ephemeral", v.Ephemeral, ephemeral),
		of("image", v.Image, c.image),
	}
}

func portalLength(v *corev1.Volume, path *field.Path) field.ErrorList {
	tooLong := v.ISCSI.InitiatorName != nil && len(v.Name)+len(":")+len(v.ISCSI.TargetPortal) > 64
	return when(tooLong, field.Invalid(path.Child("name"), v.Name,
		"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
}

// createdClaimName checks the name of the claim a pod's own volume gets.
func (c *podChecker) createdClaimName(v *corev1.Volume, path *field.Path) field.ErrorList {
	if !c.isPod() || c.meta.Name == "" || v.Name == "" {
		return nil
	}
	name := c.meta.Name + "-" + v.Name
	var errs field.ErrorList
	for _, text := range subdomain(name) {
		errs = append(errs, field.Invalid(path.Child("name"), v.Name, fmt.Sprintf("PVC name %q: %v", name, text)))
	}
	return errs
}

func (c *podChecker) image(v *corev1.ImageVolumeSource, path *field.Path) field.ErrorList {
	return join(
		when(v.Reference == "" && !c.keep.emptyImages, field.Required(path.Child("reference"), "")),
		requiredOneOf(path.Child("pullPolicy"), v.PullPolicy,
			corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
	)
}
