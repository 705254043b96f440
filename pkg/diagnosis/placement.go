package diagnosis

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// placement is what the pods themselves ask of a node, where the scheduler says
// that this keeps them from one.
func (p *patient) placement() []relaxation {
	var found []relaxation
	for _, rule := range []struct {
		says string // the scheduler's filter
		make func(*corev1.PodSpec) (relaxation, bool)
	}{
		{"anti-affinity rules", p.antiAffinity},
		{"didn't match pod affinity rules", p.affinity},
		{"didn't match Pod's node affinity/selector", p.nodeAffinity},
		{"didn't match pod topology spread constraints", p.spread},
		{"didn't have free ports", p.ports},
	} {
		if !p.hears(rule.says) {
			continue
		}
		if r, ok := rule.make(&p.template.Spec); ok {
			found = append(found, r)
		}
	}
	return found
}

// antiAffinity of the new pods alone would not do: the scheduler heeds that of
// pods that are there as well, so that all of them go without.
func (p *patient) antiAffinity(spec *corev1.PodSpec) (relaxation, bool) {
	if spec.Affinity == nil || spec.Affinity.PodAntiAffinity == nil || len(spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 0 {
		return relaxation{}, false
	}
	keys := topologies(spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	return relaxation{
		Constraint: p.constraint(v1alpha1.ConstraintAntiAffinity, "required pod anti-affinity: not two such pods on one %s", keys),
		ways: []way{{
			change: "prefer the anti-affinity on " + keys + " instead of requiring it, in the pods that are there too",
			relaxed: p.pods(func(spec *corev1.PodSpec) {
				if spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil {
					anti := spec.Affinity.PodAntiAffinity
					anti.PreferredDuringSchedulingIgnoredDuringExecution = append(preferred(anti.RequiredDuringSchedulingIgnoredDuringExecution), anti.PreferredDuringSchedulingIgnoredDuringExecution...)
					anti.RequiredDuringSchedulingIgnoredDuringExecution = nil
				}
			}),
		}},
	}, true
}

func (p *patient) affinity(spec *corev1.PodSpec) (relaxation, bool) {
	if spec.Affinity == nil || spec.Affinity.PodAffinity == nil || len(spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 0 {
		return relaxation{}, false
	}
	keys := topologies(spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	return relaxation{
		Constraint: p.constraint(v1alpha1.ConstraintAffinity, "required pod affinity on %s", keys),
		ways: []way{{
			change: "prefer the pod affinity on " + keys + " instead of requiring it",
			relaxed: p.pods(func(spec *corev1.PodSpec) {
				if spec.Affinity != nil && spec.Affinity.PodAffinity != nil {
					near := spec.Affinity.PodAffinity
					near.PreferredDuringSchedulingIgnoredDuringExecution = append(preferred(near.RequiredDuringSchedulingIgnoredDuringExecution), near.PreferredDuringSchedulingIgnoredDuringExecution...)
					near.RequiredDuringSchedulingIgnoredDuringExecution = nil
				}
			}),
		}},
	}, true
}

func (p *patient) nodeAffinity(spec *corev1.PodSpec) (relaxation, bool) {
	return relaxation{
		Constraint: p.constraint(v1alpha1.ConstraintNodeAffinity, "nodeSelector and required node affinity"),
		ways: []way{{
			change: "drop nodeSelector and required node affinity, or label a node as they ask",
			relaxed: p.pods(func(spec *corev1.PodSpec) {
				spec.NodeSelector = nil
				if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
					spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
				}
			}),
		}},
	}, len(spec.NodeSelector) > 0 || spec.Affinity != nil && spec.Affinity.NodeAffinity != nil
}

func (p *patient) spread(spec *corev1.PodSpec) (relaxation, bool) {
	var keys []string
	for _, c := range spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			keys = append(keys, fmt.Sprintf("%s (maxSkew %d)", c.TopologyKey, c.MaxSkew))
		}
	}
	return relaxation{
		Constraint: p.constraint(v1alpha1.ConstraintSpread, "topology spread over %s", list(keys)),
		ways: []way{{
			change: "whenUnsatisfiable: ScheduleAnyway for the topology spread over " + list(keys),
			relaxed: p.pods(func(spec *corev1.PodSpec) {
				for i := range spec.TopologySpreadConstraints {
					spec.TopologySpreadConstraints[i].WhenUnsatisfiable = corev1.ScheduleAnyway
				}
			}),
		}},
	}, len(keys) > 0
}

func (p *patient) ports(spec *corev1.PodSpec) (relaxation, bool) {
	var ports []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				ports = append(ports, fmt.Sprint(port.HostPort))
			}
		}
	}
	return relaxation{
		Constraint: p.constraint(v1alpha1.ConstraintPorts, "host port %s: not two such pods on one node", list(ports)),
		ways: []way{{
			change: "go without host port " + list(ports) + ", in the pods that are there too",
			relaxed: p.pods(func(spec *corev1.PodSpec) {
				spec.HostNetwork = false
				for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
					for i := range containers {
						for j := range containers[i].Ports {
							containers[i].Ports[j].HostPort = 0
						}
					}
				}
			}),
		}},
	}, len(ports) > 0
}

// preferred are required terms that are only wished for.
func preferred(required []corev1.PodAffinityTerm) []corev1.WeightedPodAffinityTerm {
	out := make([]corev1.WeightedPodAffinityTerm, len(required))
	for i, term := range required {
		out[i] = corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: term}
	}
	return out
}

func topologies(terms []corev1.PodAffinityTerm) string {
	var keys []string
	for _, term := range terms {
		if !slices.Contains(keys, term.TopologyKey) {
			keys = append(keys, term.TopologyKey)
		}
	}
	return list(keys)
}
