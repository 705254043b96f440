package validate

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Claims a pod brings along: for storage of its own and for devices.

// claimMeta are the metadata a claim's template may have.
var claimMeta = sets.New("Annotations", "Labels")

// ephemeral checks the template of a claim made for each pod.
// Source: validateEphemeralVolumeSource.
func ephemeral(v *corev1.EphemeralVolumeSource, path *field.Path) field.ErrorList {
	at := path.Child("volumeClaimTemplate")
	template := v.VolumeClaimTemplate
	if template == nil {
		return field.ErrorList{field.Required(at, "")}
	}
	meta := at.Child("metadata")
	return join(
		annotations(template.Annotations, meta.Child("annotations")),
		labels(template.Labels, meta.Child("labels")),
		onlyFields(template.ObjectMeta, claimMeta, "cannot be set", meta),
		claimSpec(&template.Spec, at.Child("spec")),
	)
}

// claimSpec checks a PersistentVolumeClaimSpec. Source: ValidatePersistentVolumeClaimSpec.
func claimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	errs := join(
		when(len(spec.AccessModes) == 0, field.Required(path.Child("accessModes"), "at least 1 access mode is required")),
		labelSelector(spec.Selector, false, path.Child("selector")),
		accessModes(spec.AccessModes, path.Child("accessModes")),
		claimSize(spec.Resources.Requests, path.Child("resources").Key(string(corev1.ResourceStorage))),
	)
	if name := spec.StorageClassName; name != nil {
		errs = append(errs, optionalAnd(path.Child("storageClassName"), *name, subdomain)...)
	}
	if mode := spec.VolumeMode; mode != nil {
		errs = append(errs, oneOf(path.Child("volumeMode"), *mode,
			corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	errs = append(errs, dataSources(spec, path)...)
	if name := spec.VolumeAttributesClassName; name != nil {
		errs = append(errs, optionalAnd(path.Child("volumeAttributesClassName"), *name, subdomain)...)
	}
	return errs
}

func accessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	alone, shared := false, false
	for _, mode := range modes {
		unknown := oneOf(path, mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
		errs = append(errs, unknown...)
		alone = alone || mode == corev1.ReadWriteOncePod
		shared = shared || (mode != corev1.ReadWriteOncePod && len(unknown) == 0)
	}
	return append(errs, when(alone && shared,
		field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))...)
}

func claimSize(requests corev1.ResourceList, path *field.Path) field.ErrorList {
	size, ok := requests[corev1.ResourceStorage]
	if !ok {
		return field.ErrorList{field.Required(path, "")}
	}
	return when(size.Sign() <= 0, field.Invalid(path, size.String(), "must be greater than zero"))
}

// dataSources checks both references to what a claim is filled with.
func dataSources(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	old, ref := spec.DataSource, spec.DataSourceRef
	var errs field.ErrorList
	if old != nil {
		errs = append(errs, dataSource(old.APIGroup, old.Kind, old.Name, path.Child("dataSource"))...)
	}
	if ref == nil {
		return errs
	}
	errs = append(errs, dataSource(ref.APIGroup, ref.Kind, ref.Name, path.Child("dataSourceRef"))...)
	foreign := ref.Namespace != nil && *ref.Namespace != ""
	if foreign {
		errs = append(errs, invalid(path.Child("dataSourceRef", "namespace"), *ref.Namespace, namespaceName(*ref.Namespace))...)
	}
	same := old != nil && old.Kind == ref.Kind && old.Name == ref.Name && reflect.DeepEqual(old.APIGroup, ref.APIGroup)
	// The value printed is a path, which has nothing to show: {}.
	return join(errs,
		when(old != nil && foreign, field.Invalid(path, path.Child("dataSource"),
			"may not be specified when dataSourceRef.namespace is specified")),
		when(old != nil && !foreign && !same, field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef")),
	)
}

func dataSource(group *string, kind, name string, path *field.Path) field.ErrorList {
	errs := append(required(path.Child("name"), name), required(path.Child("kind"), kind)...)
	if group != nil && *group != "" {
		return append(errs, invalid(path.Child("apiGroup"), *group, validation.IsDNS1123Subdomain(*group))...)
	}
	return append(errs, when(kind != "PersistentVolumeClaim",
		field.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))...)
}

// resourceClaims checks the devices a pod asks for. Source: validatePodResourceClaims.
func (c *podChecker) resourceClaims(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i := range c.spec.ResourceClaims {
		claim, at := &c.spec.ResourceClaims[i], at.Index(i)
		if c.isPod() && isMirror(c.meta.Annotations) {
			errs = append(errs, field.Forbidden(field.NewPath(""), "static pods do not support resource claims"))
			continue
		}
		if names[claim.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), claim.Name))
		} else {
			errs = append(errs, requiredAnd(at.Child("name"), claim.Name, validation.IsDNS1123Label)...)
			names[claim.Name] = claim.Name != ""
		}
		errs = append(errs, resourceClaim(claim, at)...)
	}
	return errs
}

func resourceClaim(claim *corev1.PodResourceClaim, at *field.Path) field.ErrorList {
	named, template := claim.ResourceClaimName != nil, claim.ResourceClaimTemplateName != nil
	return join(
		when(named && template, field.Invalid(at, internal{*claim},
			"at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")),
		when(!named && !template, field.Invalid(at, internal{*claim},
			"must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")),
		pointed(at.Child("resourceClaimName"), claim.ResourceClaimName, subdomain),
		pointed(at.Child("resourceClaimTemplateName"), claim.ResourceClaimTemplateName, subdomain),
	)
}
