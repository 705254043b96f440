package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod draws one with some wishes, seldom all of them.
func (d *dice) pod(name string) *corev1.Pod {
	app := pick(d, apps...)
	labels := map[string]string{"app": app}
	if d.chance(50) {
		labels["tier"] = pick(d, "front", "back")
	}
	priority := int32(pick(d, 0, 0, 0, 10, 100))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pick(d, spaces...), Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Priority: &priority, Containers: []corev1.Container{d.container(app)}}}
	if d.chance(70) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(p.Namespace + "-" + app), Controller: &yes}}
	}
	d.resources(p)
	d.tolerations(p)
	d.affinity(p)
	d.spread(p)
	if d.chance(12) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: pick(d, "zonal", "local", "late", "alone", "absent")}}}}
	}
	if d.chance(5) {
		never := corev1.PreemptNever
		p.Spec.PreemptionPolicy = &never
	}
	return p
}

func (d *dice) container(app string) corev1.Container {
	c := corev1.Container{Name: "main", Image: app + ":v1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	if d.chance(80) {
		c.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(pick(d, "100m", "500m", "1", "1500m", "9"))
	}
	if d.chance(70) {
		c.Resources.Requests[corev1.ResourceMemory] = resource.MustParse(pick(d, "128Mi", "1Gi", "3Gi"))
	}
	if d.chance(10) {
		c.Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	}
	if d.chance(10) {
		c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, HostIP: pick(d, "", "10.0.0.1"), Protocol: corev1.ProtocolTCP}}
	}
	return c
}

// resources adds what else counts: init containers, sidecars, overhead, and
// requests of the pod as a whole.
func (d *dice) resources(p *corev1.Pod) {
	if d.chance(15) {
		init := d.container("db")
		init.Name, init.Ports = "init", nil
		if d.chance(50) {
			always := corev1.ContainerRestartPolicyAlways
			init.RestartPolicy = &always
		}
		p.Spec.InitContainers = []corev1.Container{init}
	}
	if d.chance(10) {
		p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	}
	if d.chance(8) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{pick(d, corev1.ResourceCPU, corev1.ResourceMemory): resource.MustParse("1500M")}}
		if _, ok := p.Spec.Resources.Requests[corev1.ResourceCPU]; ok {
			p.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
		}
	}
}

func (d *dice) tolerations(p *corev1.Pod) {
	if d.chance(30) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "x", Effect: pick(d, "", corev1.TaintEffectNoSchedule)})
	}
	if d.chance(5) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	}
}

func (d *dice) affinity(p *corev1.Pod) {
	if d.chance(15) {
		p.Spec.NodeSelector = map[string]string{"disk": pick(d, disks...)}
	}
	a := &corev1.Affinity{}
	if d.chance(25) {
		a.NodeAffinity = d.nodeAffinity()
	}
	if d.chance(25) {
		a.PodAffinity = &corev1.PodAffinity{}
		if d.chance(50) {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{d.term()}
		}
		if d.chance(60) {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: int32(1 + d.IntN(100)), PodAffinityTerm: d.term()}}
		}
	}
	if d.chance(35) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		for range d.IntN(3) {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, d.term())
		}
		if d.chance(60) {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: int32(1 + d.IntN(100)), PodAffinityTerm: d.term()}}
		}
	}
	if a.NodeAffinity != nil || a.PodAffinity != nil || a.PodAntiAffinity != nil {
		p.Spec.Affinity = a
	}
}

func (d *dice) nodeAffinity() *corev1.NodeAffinity {
	out := &corev1.NodeAffinity{}
	in := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: values}}}
	}
	if d.chance(50) {
		terms := []corev1.NodeSelectorTerm{in(corev1.LabelTopologyZone, zones[:2]...)}
		if d.chance(20) {
			terms = []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{pick(d, "n0", "n1", "none")}}}}}
		}
		out.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	for range d.IntN(3) {
		out.PreferredDuringSchedulingIgnoredDuringExecution = append(out.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: int32(1 + d.IntN(100)), Preference: in("disk", pick(d, disks...))})
	}
	return out
}

func (d *dice) term() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: pick(d, corev1.LabelHostname, corev1.LabelTopologyZone, "disk"), LabelSelector: d.selector()}
	switch d.IntN(6) {
	case 0:
		t.Namespaces = []string{pick(d, spaces...)}
	case 1:
		t.NamespaceSelector = &metav1.LabelSelector{}
	case 2:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(d, spaces...)}}
	}
	return t
}

func (d *dice) selector() *metav1.LabelSelector {
	if d.chance(30) {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(d, apps...)}}
}

func (d *dice) spread(p *corev1.Pod) {
	if !d.chance(35) {
		return
	}
	for range 1 + d.IntN(2) {
		c := corev1.TopologySpreadConstraint{MaxSkew: int32(1 + d.IntN(3)), TopologyKey: pick(d, corev1.LabelHostname, corev1.LabelTopologyZone, "disk"),
			WhenUnsatisfiable: pick(d, corev1.DoNotSchedule, corev1.ScheduleAnyway), LabelSelector: d.selector()}
		if d.chance(20) && c.WhenUnsatisfiable == corev1.DoNotSchedule {
			least := int32(1 + d.IntN(4))
			c.MinDomains = &least
		}
		if d.chance(25) {
			policy := pick(d, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
			c.NodeAffinityPolicy = &policy
		}
		if d.chance(25) {
			policy := pick(d, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
			c.NodeTaintsPolicy = &policy
		}
		if d.chance(25) {
			c.MatchLabelKeys = []string{"tier"}
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}
