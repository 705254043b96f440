package validate

import (
	"maps"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Volumes of nodes and of storage systems.

func emptyDir(v *corev1.EmptyDirVolumeSource, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v.SizeLimit != nil && v.SizeLimit.Cmp(resource.Quantity{}) < 0 {
		errs = append(errs, field.Forbidden(at.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity"))
	}
	if v.Mode != nil && (*v.Mode < 0 || *v.Mode > 0o1777) {
		errs = append(errs, field.Invalid(at.Child("mode"), *v.Mode,
			"must be a number between 0 and 01777 (octal), both inclusive"))
	}
	return errs
}

func hostPath(v *corev1.HostPathVolumeSource, at *field.Path) field.ErrorList {
	if v.Path == "" {
		return required(at.Child("path"), v.Path)
	}
	errs := noBacksteps(v.Path, at.Child("path"))
	if v.Type == nil {
		return errs
	}
	return append(errs, oneOf(at.Child("type"), *v.Type, corev1.HostPathUnset, corev1.HostPathBlockDev,
		corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate,
		corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
}

func gitRepo(v *corev1.GitRepoVolumeSource, at *field.Path) field.ErrorList {
	return append(required(at.Child("repository"), v.Repository), relativePath(v.Directory, at.Child("directory"))...)
}

// partition checks the number of a disk's partition. Zero, the whole disk, is
// allowed although the message counts from one.
func partition(number int32, at *field.Path) field.ErrorList {
	return when(number < 0 || number > 255, field.Invalid(at, number, validation.InclusiveRangeError(1, 255)))
}

func gceDisk(v *corev1.GCEPersistentDiskVolumeSource, at *field.Path) field.ErrorList {
	return append(required(at.Child("pdName"), v.PDName), partition(v.Partition, at.Child("partition"))...)
}

func awsDisk(v *corev1.AWSElasticBlockStoreVolumeSource, at *field.Path) field.ErrorList {
	return append(required(at.Child("volumeID"), v.VolumeID), partition(v.Partition, at.Child("partition"))...)
}

func nfs(v *corev1.NFSVolumeSource, at *field.Path) field.ErrorList {
	return join(
		required(at.Child("server"), v.Server),
		required(at.Child("path"), v.Path),
		when(!path.IsAbs(v.Path), field.Invalid(at.Child("path"), v.Path, "must be an absolute path")),
	)
}

// The three forms of an iSCSI name.
var iscsiNames = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
	"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
	"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
}

func iscsiName(name string, at *field.Path) field.ErrorList {
	form := iscsiNames[name[:min(3, len(name))]]
	if form == nil {
		return field.ErrorList{field.Invalid(at, name, "must be valid format starting with iqn, eui, or naa")}
	}
	return when(!form.MatchString(name), field.Invalid(at, name, "must be valid format"))
}

func iscsi(v *corev1.ISCSIVolumeSource, at *field.Path) field.ErrorList {
	errs := append(required(at.Child("targetPortal"), v.TargetPortal), required(at.Child("iqn"), v.IQN)...)
	if v.IQN != "" {
		errs = append(errs, iscsiName(v.IQN, at.Child("iqn"))...)
	}
	errs = join(errs,
		when(v.Lun < 0 || v.Lun > 255, field.Invalid(at.Child("lun"), v.Lun, validation.InclusiveRangeError(0, 255))),
		when((v.DiscoveryCHAPAuth || v.SessionCHAPAuth) && v.SecretRef == nil, field.Required(at.Child("secretRef"), "")),
	)
	if v.InitiatorName != nil {
		errs = append(errs, iscsiName(*v.InitiatorName, at.Child("initiatorname"))...)
	}
	return errs
}

func glusterfs(v *corev1.GlusterfsVolumeSource, at *field.Path) field.ErrorList {
	return append(required(at.Child("endpoints"), v.EndpointsName), required(at.Child("path"), v.Path)...)
}

func flocker(v *corev1.FlockerVolumeSource, at *field.Path) field.ErrorList {
	return join(
		when(v.DatasetName == "" && v.DatasetUUID == "",
			field.Required(at, "one of datasetName and datasetUUID is required")),
		when(v.DatasetName != "" && v.DatasetUUID != "",
			field.Invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")),
		when(strings.Contains(v.DatasetName, "/"),
			field.Invalid(at.Child("datasetName"), v.DatasetName, "must not contain '/'")),
	)
}

func claimReference(v *corev1.PersistentVolumeClaimVolumeSource, at *field.Path) field.ErrorList {
	return required(at.Child("claimName"), v.ClaimName)
}

func rbd(v *corev1.RBDVolumeSource, at *field.Path) field.ErrorList {
	return append(when(len(v.CephMonitors) == 0, field.Required(at.Child("monitors"), "")),
		required(at.Child("image"), v.RBDImage)...)
}

// secretName demands the name of a reference that is there.
func secretName(ref *corev1.LocalObjectReference, at *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	return required(at.Child("secretRef", "name"), ref.Name)
}

func cinder(v *corev1.CinderVolumeSource, at *field.Path) field.ErrorList {
	return append(required(at.Child("volumeID"), v.VolumeID), secretName(v.SecretRef, at)...)
}

func cephFS(v *corev1.CephFSVolumeSource, at *field.Path) field.ErrorList {
	return when(len(v.Monitors) == 0, field.Required(at.Child("monitors"), ""))
}

func quobyte(v *corev1.QuobyteVolumeSource, at *field.Path) field.ErrorList {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	var errs field.ErrorList
	switch {
	case v.Registry == "":
		errs = append(errs, field.Required(at.Child("registry"), pairs))
	case len(v.Tenant) > 64:
		errs = append(errs, field.Required(at.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
	default:
		for _, pair := range strings.Split(v.Registry, ",") {
			_, _, err := net.SplitHostPort(pair)
			errs = append(errs, when(err != nil, field.Invalid(at.Child("registry"), v.Registry, pairs))...)
		}
	}
	return append(errs, required(at.Child("volume"), v.Volume)...)
}

func fibreChannel(v *corev1.FCVolumeSource, at *field.Path) field.ErrorList {
	names, wide := at.Child("targetWWNs"), len(v.TargetWWNs) > 0
	errs := join(
		when(!wide && len(v.WWIDs) == 0, field.Required(names, "must specify either targetWWNs or wwids, but not both")),
		when(wide && len(v.WWIDs) > 0,
			field.Invalid(names, v.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")),
	)
	switch {
	case !wide:
	case v.Lun == nil:
		errs = append(errs, field.Required(at.Child("lun"), "lun is required if targetWWNs is specified"))
	case *v.Lun < 0 || *v.Lun > 255:
		errs = append(errs, field.Invalid(at.Child("lun"), *v.Lun, validation.InclusiveRangeError(0, 255)))
	}
	return errs
}

// flexVolume keeps Kubernetes' own names out of a driver's options.
func flexVolume(v *corev1.FlexVolumeSource, at *field.Path) field.ErrorList {
	errs := required(at.Child("driver"), v.Driver)
	for _, key := range slices.Sorted(maps.Keys(v.Options)) {
		namespace, _, _ := strings.Cut(key, "/")
		domain := "." + strings.ToLower(namespace)
		errs = append(errs, when(strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io"),
			field.Invalid(at.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved"))...)
	}
	return errs
}

func azureFile(v *corev1.AzureFileVolumeSource, at *field.Path) field.ErrorList {
	return append(required(at.Child("secretName"), v.SecretName), required(at.Child("shareName"), v.ShareName)...)
}

func vsphere(v *corev1.VsphereVirtualDiskVolumeSource, at *field.Path) field.ErrorList {
	return required(at.Child("volumePath"), v.VolumePath)
}

func photon(v *corev1.PhotonPersistentDiskVolumeSource, at *field.Path) field.ErrorList {
	return required(at.Child("pdID"), v.PdID)
}

func portworx(v *corev1.PortworxVolumeSource, at *field.Path) field.ErrorList {
	return required(at.Child("volumeID"), v.VolumeID)
}

// The forms of an Azure disk's address.
const (
	azureManagedURI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	azureBlobURI    = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
)

func azureDisk(v *corev1.AzureDiskVolumeSource, at *field.Path) field.ErrorList {
	errs := append(required(at.Child("diskName"), v.DiskName), required(at.Child("diskURI"), v.DataDiskURI)...)
	if v.CachingMode != nil {
		errs = append(errs, oneOf(at.Child("cachingMode"), *v.CachingMode, corev1.AzureDataDiskCachingNone,
			corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)...)
	}
	if v.Kind == nil {
		return errs
	}
	prefix, form := "https://", azureBlobURI
	if *v.Kind == corev1.AzureManagedDisk {
		prefix, form = "/subscriptions/", azureManagedURI
	}
	return join(errs,
		oneOf(at.Child("kind"), *v.Kind,
			corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk),
		when(!strings.HasPrefix(v.DataDiskURI, prefix),
			field.NotSupported(at.Child("diskURI"), v.DataDiskURI, []string{form})),
	)
}

func storageOS(v *corev1.StorageOSVolumeSource, at *field.Path) field.ErrorList {
	return join(
		requiredAnd(at.Child("volumeName"), v.VolumeName, validation.IsDNS1123Label),
		optionalAnd(at.Child("volumeNamespace"), v.VolumeNamespace, validation.IsDNS1123Label),
		secretName(v.SecretRef, at),
	)
}

func scaleIO(v *corev1.ScaleIOVolumeSource, at *field.Path) field.ErrorList {
	return join(
		required(at.Child("gateway"), v.Gateway),
		required(at.Child("system"), v.System),
		required(at.Child("volumeName"), v.VolumeName),
	)
}

// csi checks a volume a driver makes for the pod. A bad secret name is said of
// a field "name" that does not exist, as upstream.
func csi(v *corev1.CSIVolumeSource, at *field.Path) field.ErrorList {
	driver := at.Child("driver")
	errs := required(driver, v.Driver)
	if v.Driver != "" {
		errs = join(errs,
			when(len(v.Driver) > validation.DNS1123LabelMaxLength, field.TooLong(driver, "", validation.DNS1123LabelMaxLength)),
			invalid(driver, v.Driver, validation.IsDNS1123Subdomain(strings.ToLower(v.Driver))),
		)
	}
	if ref := v.NodePublishSecretRef; ref != nil && ref.Name == "" {
		errs = append(errs, field.Required(at.Child("nodePublishSecretRef", "name"), ""))
	} else if ref != nil {
		errs = append(errs, invalid(at.Child("name"), ref.Name, subdomain(ref.Name))...)
	}
	return errs
}
