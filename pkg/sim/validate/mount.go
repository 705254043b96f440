package validate

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumeMounts checks where volumes appear in a container. Some of the errors
// name the list instead of the mount, as upstream. Source: ValidateVolumeMounts.
func (c *podChecker) volumeMounts(ctr *corev1.Container, list *field.Path) field.ErrorList {
	deviceNames, devicePaths := sets.New[string](), sets.New[string]()
	for _, device := range devicesByName(ctr.VolumeDevices) {
		deviceNames.Insert(device.Name)
		devicePaths.Insert(device.DevicePath)
	}
	var errs field.ErrorList
	paths := sets.New[string]()
	for i := range ctr.VolumeMounts {
		mount, at := &ctr.VolumeMounts[i], list.Index(i)
		name, mountPath := at.Child("name"), at.Child("mountPath")
		errs = join(errs,
			required(name, mount.Name),
			when(c.volumes[mount.Name] == nil, field.NotFound(name, mount.Name)),
			required(mountPath, mount.MountPath),
			when(paths.Has(mount.MountPath), field.Invalid(mountPath, mount.MountPath, "must be unique")),
			when(deviceNames.Has(mount.Name), field.Invalid(name, mount.Name, "must not already exist in volumeDevices")),
			when(devicePaths.Has(mount.MountPath),
				field.Invalid(mountPath, mount.MountPath, "must not already exist as a path in volumeDevices")),
			subPaths(mount, at, list),
			propagation(mount, ctr.SecurityContext, list.Child("mountPropagation")),
			recursiveReadOnly(mount, list.Child("recursiveReadOnly")),
		)
		paths.Insert(mount.MountPath)
	}
	return errs
}

func subPaths(mount *corev1.VolumeMount, at, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	if mount.SubPath != "" {
		errs = relativePath(mount.SubPath, list.Child("subPath"))
	}
	if mount.SubPathExpr == "" {
		return errs
	}
	return join(errs,
		when(mount.SubPath != "",
			field.Invalid(at.Child("subPathExpr"), mount.SubPathExpr, "subPathExpr and subPath are mutually exclusive")),
		relativePath(mount.SubPathExpr, list.Child("subPathExpr")),
	)
}

func propagation(mount *corev1.VolumeMount, sc *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if mount.MountPropagation == nil {
		return nil
	}
	mode := *mount.MountPropagation
	privileged := sc != nil && isTrue(sc.Privileged)
	return join(
		oneOf(path, mode,
			corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone),
		when(mode == corev1.MountPropagationBidirectional && !privileged,
			field.Forbidden(path, "Bidirectional mount propagation is available only to privileged containers")),
	)
}

func recursiveReadOnly(mount *corev1.VolumeMount, path *field.Path) field.ErrorList {
	if mount.RecursiveReadOnly == nil || *mount.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return nil
	}
	mode, other := *mount.RecursiveReadOnly, mount.MountPropagation
	if errs := oneOf(path, mode, corev1.RecursiveReadOnlyDisabled,
		corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible); len(errs) > 0 {
		return errs
	}
	return join(
		when(!mount.ReadOnly, field.Forbidden(path, "may only be specified when readOnly is true")),
		when(other != nil && *other != corev1.MountPropagationNone,
			field.Forbidden(path, "may only be specified when mountPropagation is None or not specified")),
	)
}

// devicesByName and mountsByName keep the last of several with one name, which
// is all upstream compares the others with.
func devicesByName(devices []corev1.VolumeDevice) map[string]corev1.VolumeDevice {
	last := map[string]corev1.VolumeDevice{}
	for _, device := range devices {
		last[device.Name] = device
	}
	return last
}

func mountsByName(mounts []corev1.VolumeMount) map[string]corev1.VolumeMount {
	last := map[string]corev1.VolumeMount{}
	for _, mount := range mounts {
		last[mount.Name] = mount
	}
	return last
}

// volumeDevices checks volumes used as raw devices. Source: ValidateVolumeDevices.
func (c *podChecker) volumeDevices(ctr *corev1.Container, list *field.Path) field.ErrorList {
	mountNames, mountPaths := sets.New[string](), sets.New[string]()
	for _, mount := range mountsByName(ctr.VolumeMounts) {
		mountNames.Insert(mount.Name)
		mountPaths.Insert(mount.MountPath)
	}
	var errs field.ErrorList
	names, paths := sets.New[string](), sets.New[string]()
	for i := range ctr.VolumeDevices {
		device := &ctr.VolumeDevices[i]
		name, devicePath := list.Index(i).Child("name"), list.Index(i).Child("devicePath")
		source := c.volumes[device.Name]
		backsteps := len(noBacksteps(device.DevicePath, devicePath)) > 0
		errs = join(errs,
			required(name, device.Name),
			when(names.Has(device.Name), field.Invalid(name, device.Name, "must be unique")),
			when(source != nil && source.PersistentVolumeClaim == nil && source.Ephemeral == nil, field.Invalid(name, device.Name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")),
			when(source == nil, field.NotFound(name, device.Name)),
			required(devicePath, device.DevicePath),
			when(paths.Has(device.DevicePath), field.Invalid(devicePath, device.DevicePath, "must be unique")),
			when(backsteps, field.Invalid(devicePath, device.DevicePath, "can not contain backsteps ('..')")),
			when(mountNames.Has(device.Name), field.Invalid(name, device.Name, "must not already exist in volumeMounts")),
			when(mountPaths.Has(device.DevicePath),
				field.Invalid(devicePath, device.DevicePath, "must not already exist as a path in volumeMounts")),
		)
		if !backsteps {
			paths.Insert(device.DevicePath)
		}
		if device.Name != "" {
			names.Insert(device.Name)
		}
	}
	return errs
}

// noBacksteps refuses '..' between slashes.
func noBacksteps(target string, at *field.Path) field.ErrorList {
	for _, element := range strings.Split(target, "/") {
		if element == ".." {
			return field.ErrorList{field.Invalid(at, target, "must not contain '..'")}
		}
	}
	return nil
}

// relativePath refuses paths that leave where they start.
func relativePath(target string, at *field.Path) field.ErrorList {
	return join(
		when(path.IsAbs(target), field.Invalid(at, target, "must be a relative path")),
		noBacksteps(target, at),
	)
}

// filePath is relativePath for files of a volume: names that begin with two
// dots are the volume's own.
func filePath(target string, at *field.Path) field.ErrorList {
	return append(relativePath(target, at), when(strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "../"),
		field.Invalid(at, target, "must not start with '..'"))...)
}
