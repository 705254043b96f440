package validate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// env checks variables. Names may be any printable text without '='.
func env(vars []corev1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range vars {
		errs = join(errs,
			requiredAnd(path.Index(i).Child("name"), vars[i].Name, validation.IsRelaxedEnvVarName),
			valueFrom(&vars[i], path.Index(i).Child("valueFrom")),
		)
	}
	return errs
}

// valueFrom demands exactly one source, and no literal value beside it.
func valueFrom(v *corev1.EnvVar, path *field.Path) field.ErrorList {
	from := v.ValueFrom
	if from == nil {
		return nil
	}
	var errs field.ErrorList
	sources := 0
	for _, s := range []source{
		of("fieldRef", from.FieldRef, envFieldRef),
		of("resourceFieldRef", from.ResourceFieldRef, envResourceFieldRef),
		of("configMapKeyRef", from.ConfigMapKeyRef, configMapKeyRef),
		of("secretKeyRef", from.SecretKeyRef, secretKeyRef),
		of("fileKeyRef", from.FileKeyRef, fileKeyRef),
	} {
		if s.check != nil {
			sources++
			errs = append(errs, s.check(path.Child(s.checkedAs))...)
		}
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Invalid(path, "",
			"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case v.Value != "":
		errs = append(errs, field.Invalid(path, "", "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
	}
	return errs
}

func envFieldRef(ref *corev1.ObjectFieldSelector, path *field.Path) field.ErrorList {
	return fieldRef(ref, envFields, path)
}

func envResourceFieldRef(ref *corev1.ResourceFieldSelector, path *field.Path) field.ErrorList {
	return resourceFieldRef(ref, false, path)
}

func configMapKeyRef(ref *corev1.ConfigMapKeySelector, path *field.Path) field.ErrorList {
	return keyRef(ref.Name, ref.Key, path)
}

func secretKeyRef(ref *corev1.SecretKeySelector, path *field.Path) field.ErrorList {
	return keyRef(ref.Name, ref.Key, path)
}

func keyRef(name, key string, path *field.Path) field.ErrorList {
	return join(
		invalid(path.Child("name"), name, subdomain(name)),
		requiredAnd(path.Child("key"), key, validation.IsConfigMapKey),
	)
}

func fileKeyRef(ref *corev1.FileKeySelector, path *field.Path) field.ErrorList {
	return join(
		requiredAnd(path.Child("key"), ref.Key, validation.IsRelaxedEnvVarName),
		requiredAnd(path.Child("volumeName"), ref.VolumeName, validation.IsDNS1123Label),
		required(path.Child("path"), ref.Path),
		noBacksteps(ref.Path, path.Child("path")),
	)
}

// fileKeyVolumes wants the files of variables in an emptyDir of the pod.
func fileKeyVolumes(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	volumes := map[string]*corev1.VolumeSource{}
	for i := range spec.Volumes {
		volumes[spec.Volumes[i].Name] = &spec.Volumes[i].VolumeSource
	}
	var errs field.ErrorList
	for _, ctr := range everyContainer(spec, path) {
		for i, v := range ctr.Env {
			if v.ValueFrom == nil || v.ValueFrom.FileKeyRef == nil {
				continue
			}
			name := v.ValueFrom.FileKeyRef.VolumeName
			at := ctr.path.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName")
			if source := volumes[name]; source == nil {
				errs = append(errs, field.NotFound(at, name))
			} else if source.EmptyDir == nil {
				errs = append(errs, field.Invalid(at, name, "referenced volume must be of type emptyDir"))
			}
		}
	}
	return errs
}

// envFrom checks whole config maps and secrets taken as variables. That there
// is not exactly one is said of the list, not of the entry, as upstream.
func envFrom(sources []corev1.EnvFromSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, source := range sources {
		at := path.Index(i)
		errs = append(errs, optionalAnd(at.Child("prefix"), source.Prefix, validation.IsRelaxedEnvVarName)...)
		if ref := source.ConfigMapRef; ref != nil {
			errs = append(errs, requiredAnd(at.Child("configMapRef", "name"), ref.Name, subdomainPrefix)...)
		}
		if ref := source.SecretRef; ref != nil {
			errs = append(errs, requiredAnd(at.Child("secretRef", "name"), ref.Name, subdomainPrefix)...)
		}
		switch {
		case source.ConfigMapRef == nil && source.SecretRef == nil:
			errs = append(errs, field.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
		case source.ConfigMapRef != nil && source.SecretRef != nil:
			errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

// The fields of a pod that variables and files can show, in the order messages list them.
var (
	envFields = []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
	fileFields = []string{
		"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
	}
	// Known fields, for another message than unknown ones.
	podFields = append([]string{
		"metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase",
	}, envFields...)
)

// fieldRef checks a reference to a field of the pod, with a key of a map perhaps.
// Source: validateObjectFieldSelector.
func fieldRef(ref *corev1.ObjectFieldSelector, allowed []string, path *field.Path) field.ErrorList {
	at := path.Child("fieldPath")
	fail := func(format string, args ...any) field.ErrorList {
		return field.ErrorList{field.Invalid(at, ref.FieldPath, "error converting fieldPath: "+fmt.Sprintf(format, args...))}
	}
	switch {
	case ref.APIVersion == "":
		return required(path.Child("apiVersion"), "")
	case ref.FieldPath == "":
		return required(at, "")
	case ref.APIVersion != "v1":
		return fail("unsupported pod version: %s", ref.APIVersion)
	}
	if name, key, ok := subscript(ref.FieldPath); ok {
		switch name {
		case "metadata.annotations":
			key = strings.ToLower(key)
		case "metadata.labels":
		default:
			return fail("field label does not support subscript: %s", ref.FieldPath)
		}
		return invalid(path, key, validation.IsQualifiedName(key))
	}
	name := ref.FieldPath
	switch {
	case name == "spec.host": // the name of spec.nodeName long ago
		name = "spec.nodeName"
	case !slices.Contains(podFields, name):
		return fail("field label not supported: %s", name)
	}
	return oneOf(at, name, allowed...)
}

// subscript splits name['key'].
func subscript(fieldPath string) (name, key string, ok bool) {
	inner, closed := strings.CutSuffix(fieldPath, "']")
	name, key, open := strings.Cut(inner, "['")
	return name, key, closed && open && name != ""
}

// The resources of a container that variables and files can show.
var containerResourceFields = []string{
	"limits.cpu", "limits.ephemeral-storage", "limits.memory",
	"requests.cpu", "requests.ephemeral-storage", "requests.memory",
}

// The units they can be shown in.
var (
	cpuDivisors  = []string{"1m", "1"}
	byteDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

// resourceFieldRef checks a reference to a container's resource; files must
// name the container. Source: validateContainerResourceFieldSelector.
func resourceFieldRef(ref *corev1.ResourceFieldSelector, ofFile bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case ofFile && ref.ContainerName == "":
		errs = required(path.Child("containerName"), "")
	case ref.Resource == "":
		errs = required(path.Child("resource"), "")
	case !isHugePagesField(ref.Resource):
		errs = oneOf(path.Child("resource"), ref.Resource, containerResourceFields...)
	}
	return append(errs, divisor(ref, path.Child("divisor"))...)
}

func isHugePagesField(name string) bool {
	return strings.HasPrefix(name, "requests.hugepages-") || strings.HasPrefix(name, "limits.hugepages-")
}

// divisor checks the unit; resources it is not about can have any.
func divisor(ref *corev1.ResourceFieldSelector, path *field.Path) field.ErrorList {
	if ref.Divisor.IsZero() {
		return nil
	}
	allowed, listed, kind := byteDivisors, strings.Join(byteDivisors, ", "), ""
	switch _, name, _ := strings.Cut(ref.Resource, "."); {
	case isHugePagesField(ref.Resource):
		kind = "hugepages"
	case !slices.Contains(containerResourceFields, ref.Resource):
		return nil
	case name == "cpu":
		allowed, listed, kind = cpuDivisors, "1m and 1", "cpu"
	case name == "memory":
		kind = "memory"
	default:
		kind = "local ephemeral storage"
	}
	return when(!slices.Contains(allowed, ref.Divisor.String()), field.Invalid(path, ref.Resource,
		fmt.Sprintf("only divisor's values %s are supported with the %s resource", listed, kind)))
}
