package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
)

// podOf is a pod of the patient.
type podOf = timeline.Pod

// What the kubelet says of containers that do not come up.
var (
	imageTroubles = []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
	crashTroubles = []string{"CrashLoopBackOff", "Error", "OOMKilled", "StartError", "RunContainerError", "ContainerCannotRun", "Completed"}
)

// containers are why pods that have a node are not available.
func (p *patient) containers() []relaxation {
	var found []relaxation
	add := func(kind v1alpha1.ConstraintType, change string, relaxed Relaxed, format string, args ...any) {
		found = append(found, relaxation{Constraint: p.constraint(kind, format, args...), ways: []way{{change: change, relaxed: relaxed}}})
	}
	images := list(imagesOf(&p.template.Spec))
	if p.suffers(imageTroubles...) {
		add(v1alpha1.ConstraintImage, "an image that can be pulled", p.well(), "image %s cannot be pulled", images)
	}
	if p.suffers(crashTroubles...) {
		add(v1alpha1.ConstraintCrash, "containers that stay up", p.well(), "containers of image %s exit", images)
	}
	if p.suffers("NotReady", "NotStarted") {
		if delays := delaysOf(&p.template.Spec); len(delays) > 0 {
			add(v1alpha1.ConstraintProbe, "initialDelaySeconds 0", p.pods(hurry), "%s", list(delays))
		}
		add(v1alpha1.ConstraintReadiness, "pods that answer their probes within 2s", p.well(), "new pods run and do not become ready")
	}
	if seconds := p.workload.Spec().MinReadySeconds; seconds > 0 && p.suffers("MinReadySeconds") {
		add(v1alpha1.ConstraintMinReady, "minReadySeconds 0", p.object(func(s *appsv1.DeploymentSpec) { s.MinReadySeconds = 0 }),
			"minReadySeconds %d: each new pod has to be ready for so long", seconds)
	}
	return found
}

func imagesOf(spec *corev1.PodSpec) (out []string) {
	for _, c := range spec.Containers {
		out = append(out, c.Image)
	}
	return out
}

// delaysOf words the first looks of probes that come late.
func delaysOf(spec *corev1.PodSpec) (out []string) {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, probe := range []struct {
			name string
			*corev1.Probe
		}{{"startup", c.StartupProbe}, {"readiness", c.ReadinessProbe}} {
			if probe.Probe != nil && probe.InitialDelaySeconds > 0 {
				out = append(out, fmt.Sprintf("the %s probe of container %s first asks after %ds", probe.name, c.Name, probe.InitialDelaySeconds))
			}
		}
	}
	return out
}

// hurry lets probes ask at once.
func hurry(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, probe := range []*corev1.Probe{containers[i].StartupProbe, containers[i].ReadinessProbe} {
				if probe != nil {
					probe.InitialDelaySeconds = 0
				}
			}
		}
	}
}

// strategy is how many pods there may be, and how few available.
func (p *patient) strategy() []relaxation {
	spec := p.workload.Spec()
	if spec.Strategy != string(appsv1.RollingUpdateDeploymentStrategyType) || p.counts.Active <= p.counts.Updated {
		return nil
	}
	unavailable := relaxation{Constraint: p.constraint(v1alpha1.ConstraintUnavailable,
		"maxUnavailable %d: no more old pods may go before a new one is available", spec.Unavailable)}
	var found []relaxation
	if spec.Unavailable == 0 {
		unavailable.ways = append(unavailable.ways, way{change: "maxUnavailable 1", relaxed: p.rolling(nil, 1)})
		none := 0
		unavailable.ways = append(unavailable.ways, way{change: "maxUnavailable 1 and maxSurge 0", relaxed: p.rolling(&none, 1)})
	}
	if p.wait == nil { // who completes anyway need not serve nobody for that
		unavailable.ways = append(unavailable.ways, way{change: "strategy Recreate", relaxed: p.object(func(s *appsv1.DeploymentSpec) {
			s.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		})})
	}
	if len(unavailable.ways) > 0 {
		found = append(found, unavailable)
	}
	if spec.Surge == 0 {
		one := 1
		found = append(found, relaxation{
			Constraint: p.constraint(v1alpha1.ConstraintSurge, "maxSurge 0: no new pod before an old one goes"),
			ways:       []way{{change: "maxSurge 1", relaxed: p.rolling(&one, int(spec.Unavailable))}},
		})
	}
	return found
}

// rolling sets the limits of a rolling update; a nil surge leaves it as it is.
func (p *patient) rolling(surge *int, unavailable int) Relaxed {
	return p.object(func(s *appsv1.DeploymentSpec) {
		limits := &appsv1.RollingUpdateDeployment{}
		if s.Strategy.RollingUpdate != nil {
			limits = s.Strategy.RollingUpdate
		}
		if surge != nil {
			n := intstr.FromInt(*surge)
			limits.MaxSurge = &n
		}
		n := intstr.FromInt(unavailable)
		limits.MaxUnavailable = &n
		s.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: limits}
	})
}

// deadline is given up where it was missed: what completes without one needs
// one that is longer than its longest wait.
func (p *patient) deadline() []relaxation {
	was := p.workload.Spec().ProgressDeadlineSeconds
	if p.Verdict != v1alpha1.DeadlineExceeded || was == nil {
		return nil
	}
	return []relaxation{{
		Constraint: p.constraint(v1alpha1.ConstraintDeadline, "progressDeadlineSeconds %d", *was),
		ways: []way{{
			change: "no progress deadline",
			relaxed: p.object(func(s *appsv1.DeploymentSpec) {
				never := int32(math.MaxInt32)
				s.ProgressDeadlineSeconds = &never
			}),
			measured: func(w *v1alpha1.WorkloadStatus) string {
				return fmt.Sprintf("progressDeadlineSeconds above %g", math.Ceil(w.LongestWaitForProgressSeconds))
			},
		}},
	}}
}

func list(words []string) string { return strings.Join(words, ", ") }
