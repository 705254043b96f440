package validate

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// containers checks the regular containers. Source: validateContainers.
func (c *podChecker) containers(path *field.Path) field.ErrorList {
	list := c.spec.Containers
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range list {
		ctr, at := &list[i], path.Index(i)
		errs = append(errs, c.container(ctr, at)...)
		errs = append(errs, when(names.Has(ctr.Name), field.Duplicate(at.Child("name"), ctr.Name))...)
		names.Insert(ctr.Name)
		errs = append(errs, c.running(ctr, at)...)
		errs = append(errs, restartRules(ctr, false, at)...)
	}
	return append(errs, hostPortsUnique(list, path)...)
}

// initContainers checks the init containers. Those that restart always are
// sidecars, which run beside the others and may have probes and hooks.
// Source: validateInitContainers.
func (c *podChecker) initContainers(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for _, ctr := range c.spec.Containers {
		names.Insert(ctr.Name)
	}
	for i := range c.spec.InitContainers {
		ctr, at := &c.spec.InitContainers[i], path.Index(i)
		errs = append(errs, c.container(ctr, at)...)
		errs = append(errs, restartRules(ctr, true, at)...)
		errs = append(errs, when(names.Has(ctr.Name), field.Duplicate(at.Child("name"), ctr.Name))...)
		if ctr.Name != "" {
			names.Insert(ctr.Name)
		}
		// They run one by one, so only their own ports can collide; the path
		// names the first of the list, whichever it is, as upstream.
		errs = append(errs, hostPortsUnique([]corev1.Container{*ctr}, path)...)
		if isSidecar(ctr) {
			errs = append(errs, c.running(ctr, at)...)
			continue
		}
		errs = append(errs, notInInit(ctr, at)...)
		if !c.keep.initResize {
			errs = append(errs, noRestartOnResize(ctr, at)...)
		}
	}
	return errs
}

func isSidecar(ctr *corev1.Container) bool {
	return ctr.RestartPolicy != nil && *ctr.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func notInInit(ctr *corev1.Container, path *field.Path) field.ErrorList {
	const reason = "may not be set for init containers without restartPolicy=Always"
	return join(
		when(ctr.Lifecycle != nil, field.Forbidden(path.Child("lifecycle"), reason)),
		when(ctr.LivenessProbe != nil, field.Forbidden(path.Child("livenessProbe"), reason)),
		when(ctr.ReadinessProbe != nil, field.Forbidden(path.Child("readinessProbe"), reason)),
		when(ctr.StartupProbe != nil, field.Forbidden(path.Child("startupProbe"), reason)),
	)
}

func noRestartOnResize(ctr *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, policy := range ctr.ResizePolicy {
		if policy.RestartPolicy == corev1.RestartContainer {
			errs = append(errs, field.Invalid(path.Child("resizePolicy").Index(i).Child("restartPolicy"), policy.RestartPolicy,
				"must not be set to 'RestartContainer' for non-sidecar initContainers"))
		}
	}
	return errs
}

// ephemeralOnly are the fields an ephemeral container may have.
var ephemeralOnly = sets.New("Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts",
	"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext",
	"Stdin", "StdinOnce", "TTY")

// ephemeralContainers checks them in detail although neither a template nor a
// new pod may have any, as upstream does. Source: validateEphemeralContainers.
func (c *podChecker) ephemeralContainers(path *field.Path) field.ErrorList {
	const reason = "cannot be set for an Ephemeral Container"
	if len(c.spec.EphemeralContainers) == 0 {
		return nil
	}
	others := sets.New[string]()
	for _, ctr := range append(append([]corev1.Container{}, c.spec.Containers...), c.spec.InitContainers...) {
		others.Insert(ctr.Name)
	}
	names := others.Clone()
	var errs field.ErrorList
	for i := range c.spec.EphemeralContainers {
		ephemeral, at := &c.spec.EphemeralContainers[i], path.Index(i)
		ctr := (*corev1.Container)(&ephemeral.EphemeralContainerCommon)
		target := ephemeral.TargetContainerName
		errs = join(errs,
			c.container(ctr, at),
			imageTrimmed(ctr, at),
			when(names.Has(ctr.Name), field.Duplicate(at.Child("name"), ctr.Name)),
			when(target != "" && !others.Has(target), field.NotFound(at.Child("targetContainerName"), target)),
			onlyFields(ephemeral.EphemeralContainerCommon, ephemeralOnly, reason, at),
		)
		names.Insert(ctr.Name)
		for j, mount := range ctr.VolumeMounts {
			at := at.Child("volumeMounts").Index(j)
			errs = append(errs, when(mount.SubPath != "", field.Forbidden(at.Child("subPath"), reason))...)
			errs = append(errs, when(mount.SubPathExpr != "", field.Forbidden(at.Child("subPathExpr"), reason))...)
		}
	}
	return errs
}

// onlyFields refuses every other field of a structure that is set.
func onlyFields(value any, allowed sets.Set[string], reason string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !allowed.Has(name) && !v.Field(i).IsZero() {
			errs = append(errs, field.Forbidden(path.Child(strings.ToLower(name[:1])+name[1:]), reason))
		}
	}
	return errs
}

// container is what all three kinds have in common. Source: validateContainerCommon.
func (c *podChecker) container(ctr *corev1.Container, path *field.Path) field.ErrorList {
	return join(
		requiredAnd(path.Child("name"), ctr.Name, validation.IsDNS1123Label),
		required(path.Child("image"), ctr.Image),
		requiredOneOf(path.Child("terminationMessagePolicy"), ctr.TerminationMessagePolicy,
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		containerPorts(ctr.Ports, path.Child("ports")),
		env(ctr.Env, path.Child("env")),
		envFrom(ctr.EnvFrom, path.Child("envFrom")),
		c.volumeMounts(ctr, path.Child("volumeMounts")),
		c.volumeDevices(ctr, path.Child("volumeDevices")),
		requiredOneOf(path.Child("imagePullPolicy"), ctr.ImagePullPolicy,
			corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
		c.resources(&ctr.Resources, containerResourceName, path.Child("resources")),
		resizePolicies(ctr.ResizePolicy, c.spec.RestartPolicy, path.Child("resizePolicy")),
		c.security(ctr.SecurityContext, path.Child("securityContext")),
	)
}

// running is what a container has that runs for the life of the pod.
func (c *podChecker) running(ctr *corev1.Container, path *field.Path) field.ErrorList {
	grace := c.spec.TerminationGracePeriodSeconds
	return join(
		lifecycle(ctr.Lifecycle, grace, path.Child("lifecycle")),
		livenessProbe(ctr.LivenessProbe, path.Child("livenessProbe")),
		readinessProbe(ctr.ReadinessProbe, path.Child("readinessProbe")),
		livenessProbe(ctr.StartupProbe, path.Child("startupProbe")),
	)
}

func imageTrimmed(ctr *corev1.Container, path *field.Path) field.ErrorList {
	return when(ctr.Image != strings.TrimSpace(ctr.Image),
		field.Invalid(path.Child("image"), ctr.Image, "must not have leading or trailing whitespace"))
}

func containerPorts(ports []corev1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, port := range ports {
		at := path.Index(i)
		errs = join(errs,
			portName(port.Name, names, at.Child("name")),
			portNumber(port.ContainerPort, at.Child("containerPort")),
			when(port.ContainerPort == 0, field.Required(at.Child("containerPort"), "")),
			portNumber(port.HostPort, at.Child("hostPort")),
			requiredOneOf(at.Child("protocol"), port.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		)
	}
	return errs
}

// portName checks a name, if there is one, and notes it.
func portName(name string, seen sets.Set[string], path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	if errs := invalid(path, name, validation.IsValidPortName(name)); len(errs) > 0 {
		return errs
	}
	duplicate := seen.Has(name)
	seen.Insert(name)
	return when(duplicate, field.Duplicate(path, name))
}

func portNumber(port int32, path *field.Path) field.ErrorList {
	if port == 0 {
		return nil
	}
	return invalid(path, port, validation.IsValidPortNum(int(port)))
}
