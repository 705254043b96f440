package validate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// leniency is what an update may keep, because the object already has it: data
// stored before a rule was made must not block other changes. The zero value is
// the strictness of a creation. Source: pkg/api/pod.GetValidationOptionsFromPodSpecAndMeta.
type leniency struct {
	deletionCost             bool // an annotation that is no number
	oddHugePages             bool // not a multiple of the page size
	labelValues              bool // in the selectors of affinity to pods
	nodeLabelValues          bool // in required affinity to nodes
	spreadSelectors          bool // in topology spread constraints
	spreadKeys               bool // matchLabelKeys under the rule before 1.34
	tokenPaths               bool // projected tokens outside their volume
	hostSysctls              bool // namespaced sysctls in the host's namespaces
	comparingTolerations     bool // Lt and Gt
	userNamespaceHostNetwork bool
	userNamespaceDevices     bool
	emptyImages              bool // image volumes without a reference
	sysAdmin                 bool // CAP_SYS_ADMIN without privilege escalation
	initResize               bool // init containers that restart on resize
}

// leniencyOf finds what the template of a stored object already has.
func leniencyOf(t *corev1.PodTemplateSpec) leniency {
	spec := &t.Spec
	strict := &podChecker{spec: spec}
	keep := leniency{
		deletionCost: len(deletionCost(t.Annotations, metadata)) > 0,
		spreadSelectors: badSpread(spec, func(c *corev1.TopologySpreadConstraint) field.ErrorList {
			return labelSelector(c.LabelSelector, false, specPath)
		}),
		spreadKeys: badSpread(spec, func(c *corev1.TopologySpreadConstraint) field.ErrorList {
			return labelKeys(c.MatchLabelKeys, nil, c.LabelSelector, specPath)
		}),
		hostSysctls:              spec.SecurityContext != nil && len(strict.hostSysctls(specPath)) > 0,
		userNamespaceHostNetwork: spec.HostNetwork && !strict.hostUsers(),
	}
	keep.ofAffinity(spec.Affinity)
	for _, t := range spec.Tolerations {
		keep.comparingTolerations = keep.comparingTolerations || t.Operator == corev1.TolerationOpLt || t.Operator == corev1.TolerationOpGt
	}
	for i := range spec.Volumes {
		keep.ofVolume(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		ctr := &spec.InitContainers[i]
		keep.initResize = keep.initResize || (!isSidecar(ctr) && len(noRestartOnResize(ctr, specPath)) > 0)
	}
	for _, ctr := range everyContainer(spec, specPath) {
		keep.userNamespaceDevices = keep.userNamespaceDevices || (len(ctr.VolumeDevices) > 0 && !strict.hostUsers())
		keep.sysAdmin = keep.sysAdmin || keepsSysAdmin(ctr.SecurityContext)
		keep.oddHugePages = keep.oddHugePages || odd(ctr.Resources.Limits) || odd(ctr.Resources.Requests)
	}
	keep.oddHugePages = keep.oddHugePages || odd(spec.Overhead)
	return keep
}

func odd(list corev1.ResourceList) bool {
	for name, q := range list {
		if isHugePages(name) && !divides(name, q) {
			return true
		}
	}
	return false
}

func badSpread(spec *corev1.PodSpec, check func(*corev1.TopologySpreadConstraint) field.ErrorList) bool {
	for i := range spec.TopologySpreadConstraints {
		if len(check(&spec.TopologySpreadConstraints[i])) > 0 {
			return true
		}
	}
	return false
}

// keepsSysAdmin: an unset allowPrivilegeEscalation counts as false here, unlike
// in the rule itself.
func keepsSysAdmin(sc *corev1.SecurityContext) bool {
	return sc != nil && !isTrue(sc.AllowPrivilegeEscalation) && addsSysAdmin(sc.Capabilities) > 0
}

func (k *leniency) ofVolume(v *corev1.Volume) {
	k.emptyImages = k.emptyImages || (v.Image != nil && v.Image.Reference == "")
	if v.Projected == nil {
		return
	}
	for _, source := range v.Projected.Sources {
		if token := source.ServiceAccountToken; token != nil && len(filePath(token.Path, specPath)) > 0 {
			k.tokenPaths = true
		}
	}
}

func (k *leniency) ofAffinity(a *corev1.Affinity) {
	if a == nil {
		return
	}
	var terms []corev1.PodAffinityTerm
	add := func(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, hard...)
		for _, weighted := range soft {
			terms = append(terms, weighted.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for i := range terms {
		k.labelValues = k.labelValues || len(podTermSelectors(&terms[i], false, specPath)) > 0
	}
	if n := a.NodeAffinity; n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		k.nodeLabelValues = badNodeValues(n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
	}
}

func badNodeValues(terms []corev1.NodeSelectorTerm) bool {
	for _, term := range terms {
		for _, expression := range term.MatchExpressions {
			for _, value := range expression.Values {
				if len(validation.IsValidLabelValue(value)) > 0 {
					return true
				}
			}
		}
	}
	return false
}
