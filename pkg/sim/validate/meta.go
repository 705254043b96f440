package validate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metadata = field.NewPath("metadata")

// objectMeta checks the metadata of a namespaced object that is to be created,
// after its name was generated. Source: ValidateObjectMeta.
func objectMeta(meta *metav1.ObjectMeta) field.ErrorList {
	errs := optionalAnd(metadata.Child("generateName"), meta.GenerateName, subdomainPrefix)
	if meta.Name == "" {
		errs = append(errs, field.Required(metadata.Child("name"), "name or generateName is required"))
	}
	return join(errs,
		optionalAnd(metadata.Child("name"), meta.Name, subdomain),
		requiredAnd(metadata.Child("namespace"), meta.Namespace, namespaceName),
		nonNegative(metadata.Child("generation"), meta.Generation),
		labels(meta.Labels, metadata.Child("labels")),
		annotations(meta.Annotations, metadata.Child("annotations")),
		apivalidation.ValidateOwnerReferences(meta.OwnerReferences, metadata.Child("ownerReferences")),
		apivalidation.ValidateFinalizers(meta.Finalizers, metadata.Child("finalizers")),
		metavalidation.ValidateManagedFields(meta.ManagedFields, metadata.Child("managedFields")),
		standardFinalizers(meta.Finalizers),
	)
}

// ObjectMetaUpdate checks what of an object's metadata an update may not
// change, and the rest as at creation. Before it, the API server overwrites
// some of it with the old object's. Source: ValidateObjectMetaUpdate.
func ObjectMetaUpdate(new, old *metav1.ObjectMeta) field.ErrorList {
	var errs field.ErrorList
	if old.DeletionTimestamp != nil {
		errs = apivalidation.ValidateNoNewFinalizers(new.Finalizers, old.Finalizers, metadata.Child("finalizers"))
	}
	if new.ResourceVersion == "" {
		errs = append(errs, field.Invalid(metadata.Child("resourceVersion"), "", "must be specified for an update"))
	}
	errs = join(errs,
		nonNegative(metadata.Child("generation"), new.Generation),
		when(new.Generation < old.Generation,
			field.Invalid(metadata.Child("generation"), new.Generation, "must not be decremented")),
	)
	immutable := func(name string, new, old any) {
		errs = append(errs, apivalidation.ValidateImmutableField(new, old, metadata.Child(name))...)
	}
	immutable("name", new.Name, old.Name)
	immutable("namespace", new.Namespace, old.Namespace)
	immutable("uid", new.UID, old.UID)
	immutable("creationTimestamp", new.CreationTimestamp, old.CreationTimestamp)
	immutable("deletionTimestamp", new.DeletionTimestamp, old.DeletionTimestamp)
	immutable("deletionGracePeriodSeconds", new.DeletionGracePeriodSeconds, old.DeletionGracePeriodSeconds)
	return join(errs,
		labels(new.Labels, metadata.Child("labels")),
		annotations(new.Annotations, metadata.Child("annotations")),
		apivalidation.ValidateOwnerReferences(new.OwnerReferences, metadata.Child("ownerReferences")),
		metavalidation.ValidateManagedFields(new.ManagedFields, metadata.Child("managedFields")),
		standardFinalizers(new.Finalizers),
	)
}

// standardFinalizers lets finalizers without a domain be only the API's own.
func standardFinalizers(finalizers []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range finalizers {
		switch {
		case strings.Contains(name, "/"):
		case name == string(corev1.FinalizerKubernetes):
		case name == metav1.FinalizerOrphanDependents, name == metav1.FinalizerDeleteDependents:
		default:
			errs = append(errs, field.Invalid(metadata.Child("finalizers").Index(i), name,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}
