package validate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Volumes whose files come from the API.

// fileMode checks permission bits that are there.
func fileMode(mode *int32, path *field.Path) field.ErrorList {
	if mode == nil || (*mode >= 0 && *mode <= 0o777) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
}

func secret(v *corev1.SecretVolumeSource, path *field.Path) field.ErrorList {
	return join(
		required(path.Child("secretName"), v.SecretName),
		fileMode(v.DefaultMode, path.Child("defaultMode")),
		userID(path.Child("defaultUser"), v.DefaultUser),
		keysToPaths(v.Items, path.Child("items")),
	)
}

func configMap(v *corev1.ConfigMapVolumeSource, path *field.Path) field.ErrorList {
	return join(
		required(path.Child("name"), v.Name),
		fileMode(v.DefaultMode, path.Child("defaultMode")),
		userID(path.Child("defaultUser"), v.DefaultUser),
		keysToPaths(v.Items, path.Child("items")),
	)
}

func keysToPaths(items []corev1.KeyToPath, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range items {
		errs = append(errs, keyToPath(&items[i], path.Index(i))...)
	}
	return errs
}

func keyToPath(item *corev1.KeyToPath, path *field.Path) field.ErrorList {
	return join(
		required(path.Child("key"), item.Key),
		required(path.Child("path"), item.Path),
		filePath(item.Path, path.Child("path")),
		fileMode(item.Mode, path.Child("mode")),
		userID(path.Child("user"), item.User),
	)
}

func downwardAPI(v *corev1.DownwardAPIVolumeSource, path *field.Path) field.ErrorList {
	errs := join(
		fileMode(v.DefaultMode, path.Child("defaultMode")),
		userID(path.Child("defaultUser"), v.DefaultUser),
	)
	for i := range v.Items {
		errs = append(errs, downwardFile(&v.Items[i], path)...)
	}
	return errs
}

// downwardFile checks a file with a fact about the pod; errors name the volume,
// not the file, as upstream.
func downwardFile(file *corev1.DownwardAPIVolumeFile, path *field.Path) field.ErrorList {
	errs := join(
		required(path.Child("path"), file.Path),
		filePath(file.Path, path.Child("path")),
	)
	switch {
	case file.FieldRef != nil:
		errs = append(errs, fieldRef(file.FieldRef, fileFields, path.Child("fieldRef"))...)
		errs = append(errs, when(file.ResourceFieldRef != nil,
			field.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))...)
	case file.ResourceFieldRef != nil:
		errs = append(errs, resourceFieldRef(file.ResourceFieldRef, true, path.Child("resourceFieldRef"))...)
	default:
		errs = append(errs, field.Required(path, "one of fieldRef and resourceFieldRef is required"))
	}
	return join(errs,
		fileMode(file.Mode, path.Child("mode")),
		userID(path.Child("user"), file.User),
	)
}
