package validate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podChecker checks one pod spec, of a pod or of a template, and holds what its
// parts must know of the whole.
type podChecker struct {
	spec *corev1.PodSpec
	// meta is the pod's own metadata; nil for a template, whose pods have no name yet.
	meta *metav1.ObjectMeta
	keep leniency
	// volumes are those without errors, by name; claims are the names of the resource claims.
	volumes map[string]*corev1.VolumeSource
	claims  sets.Set[string]
}

func (c *podChecker) isPod() bool { return c.meta != nil }

// hostUsers is true unless the pod has a user namespace of its own.
func (c *podChecker) hostUsers() bool { return c.spec.HostUsers == nil || *c.spec.HostUsers }

// podTemplate checks a template. Its name and owners are not looked at: pods do
// not get them. Source: ValidatePodTemplateSpec.
func podTemplate(t *corev1.PodTemplateSpec, keep leniency, path *field.Path) field.ErrorList {
	checker := &podChecker{spec: &t.Spec, keep: keep}
	spec := path.Child("spec")
	return join(
		labels(t.Labels, path.Child("labels")),
		annotations(t.Annotations, path.Child("annotations")),
		podAnnotations(t.Annotations, checker, path.Child("annotations")),
		checker.check(spec),
		profilesAgree(t.Annotations, &t.Spec, spec),
		when(len(t.Spec.EphemeralContainers) > 0,
			field.Forbidden(spec.Child("ephemeralContainers"), "ephemeral containers not allowed in pod template")),
	)
}

// podCreate checks what only a real pod must obey, too. Source: ValidatePodCreate.
func podCreate(p *corev1.Pod) field.ErrorList {
	checker := &podChecker{spec: &p.Spec, meta: &p.ObjectMeta}
	errs := join(
		objectMeta(&p.ObjectMeta),
		podAnnotations(p.Annotations, checker, metadata.Child("annotations")),
		checker.check(specPath),
		tokensNeedAccount(&p.Spec),
	)
	if grace := p.Spec.TerminationGracePeriodSeconds; grace != nil {
		errs = append(errs, nonNegative(specPath.Child("terminationGracePeriodSeconds"), *grace)...)
	}
	return join(errs,
		imagesTrimmed(p.Spec.Containers, specPath.Child("containers")),
		imagesTrimmed(p.Spec.InitContainers, specPath.Child("initContainers")),
		when(len(p.Spec.EphemeralContainers) > 0,
			field.Forbidden(specPath.Child("ephemeralContainers"), "cannot be set on create")),
		when(p.Spec.NodeName != "" && len(p.Spec.SchedulingGates) > 0,
			field.Forbidden(specPath.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")),
		profilesAgree(p.Annotations, &p.Spec, specPath),
	)
}

// tokensNeedAccount refuses projected tokens of no service account. Templates
// may lack it: admission fills it in on the pod.
func tokensNeedAccount(spec *corev1.PodSpec) field.ErrorList {
	if spec.ServiceAccountName != "" {
		return nil
	}
	var errs field.ErrorList
	for i, v := range spec.Volumes {
		if v.Projected == nil {
			continue
		}
		sources := specPath.Child("volumes").Index(i).Child("projected", "sources")
		for j, source := range v.Projected.Sources {
			if source.ServiceAccountToken != nil {
				errs = append(errs, field.Forbidden(sources.Index(j).Child("serviceAccountToken"),
					"must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}

func imagesTrimmed(containers []corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		errs = append(errs, imageTrimmed(&containers[i], path.Index(i))...)
	}
	return errs
}

// located is a container with its place in the spec.
type located struct {
	*corev1.Container
	path *field.Path
}

// everyContainer lists init, regular and ephemeral containers, in that order.
func everyContainer(spec *corev1.PodSpec, path *field.Path) []located {
	var all []located
	for i := range spec.InitContainers {
		all = append(all, located{&spec.InitContainers[i], path.Child("initContainers").Index(i)})
	}
	for i := range spec.Containers {
		all = append(all, located{&spec.Containers[i], path.Child("containers").Index(i)})
	}
	for i := range spec.EphemeralContainers {
		common := &spec.EphemeralContainers[i].EphemeralContainerCommon
		all = append(all, located{(*corev1.Container)(common), path.Child("ephemeralContainers").Index(i)})
	}
	return all
}
