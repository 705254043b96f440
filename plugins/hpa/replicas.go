package hpa

import (
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// tolerances are how far usage may be off its target without consequence.
type tolerances struct{ down, up float64 }

func (t tolerances) within(ratio float64) bool { return 1-t.down <= ratio && ratio <= 1+t.up }

var (
	errNoPods    = errors.New("no pods returned by selector while calculating replica count")
	errNoSamples = errors.New("did not receive metrics for targeted pods (pods might be unready)")
	errNoneKnown = errors.New("no metrics returned matched known pods")
)

// groups are the pods by what their metric is worth (replica_calculator.go groupPods).
type groups struct {
	ready            int
	unready, missing []string // a start-up's sample does not count; there is none
	ignored          []string // going or failed
}

func groupPods(pods []*corev1.Pod, samples map[string]sample, isCPU bool, now time.Time) (g groups) {
	for _, pod := range pods {
		s, found := samples[pod.Name]
		switch {
		case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed:
			g.ignored = append(g.ignored, pod.Name)
		case pod.Status.Phase == corev1.PodPending:
			g.unready = append(g.unready, pod.Name)
		case !found:
			g.missing = append(g.missing, pod.Name)
		case isCPU && starting(pod, s, now):
			g.unready = append(g.unready, pod.Name)
		default:
			g.ready++
		}
	}
	return g
}

// starting says that a pod's CPU sample is about its start-up: within the
// initialization period one that is not ready, or whose sample began before it
// was; later one that has never been ready.
func starting(pod *corev1.Pod, s sample, now time.Time) bool {
	ready := rollout.PodReadyCondition(pod)
	if ready == nil || pod.Status.StartTime == nil {
		return true
	}
	start, since := pod.Status.StartTime.Time, ready.LastTransitionTime.Time
	unready := ready.Status == corev1.ConditionFalse
	if start.Add(cpuInitialization).After(now) {
		return unready || s.at.Before(since.Add(s.window))
	}
	return unready && start.Add(initialReadiness).After(since)
}

// usage is what samples come to against a target.
type usage struct {
	ratio       float64
	utilization int32 // percent of the requests
	average     int64 // thousandths
}

// gauge is one way to weigh samples.
type gauge struct {
	of func(samples map[string]sample) (usage, error)
	// absent is what a pod without a sample is taken to use where usage is below the target.
	absent func(pod string) int64
}

// plain weighs averages against a target average (metrics/utilization.go GetMetricUsageRatio).
func plain(target int64) gauge {
	return gauge{
		of: func(samples map[string]sample) (usage, error) {
			total := int64(0)
			for _, s := range samples {
				total += s.value
			}
			average := total / int64(len(samples))
			return usage{ratio: float64(average) / float64(target), average: average}, nil
		},
		absent: func(string) int64 { return target },
	}
}

// utilization weighs what pods use against what they request
// (metrics/utilization.go GetResourceUtilizationRatio).
func utilization(target int32, requests map[string]int64) gauge {
	return gauge{
		of: func(samples map[string]sample) (usage, error) {
			used, requested, n := int64(0), int64(0), int64(0)
			for pod, s := range samples {
				if request, known := requests[pod]; known {
					used, requested, n = used+s.value, requested+request, n+1
				}
			}
			if requested == 0 {
				return usage{}, errNoneKnown
			}
			percent := int32(used * 100 / requested)
			return usage{ratio: float64(percent) / float64(target), utilization: percent, average: used / n}, nil
		},
		// All of its request, or more where the target is more.
		absent: func(pod string) int64 { return requests[pod] * int64(max(100, target)) / 100 },
	}
}

// drop takes the samples that do not count away; without any that does there
// is nothing to go by.
func (g *groups) drop(samples map[string]sample) error {
	for _, list := range [][]string{g.ignored, g.unready} {
		for _, pod := range list {
			delete(samples, pod)
		}
	}
	if len(samples) == 0 {
		return errNoSamples
	}
	return nil
}

// replicasFor is how many pods samples that count ask for (replica_calculator.go
// GetResourceReplicas, calcPlainMetricReplicas). Pods that say nothing, or
// nothing yet, dampen a change but never turn it round.
func replicasFor(samples map[string]sample, g groups, by gauge, current int32, t tolerances) (int32, usage, error) {
	seen, err := by.of(samples)
	if err != nil {
		return 0, usage{}, err
	}
	growing := len(g.unready) > 0 && seen.ratio > 1
	if !growing && len(g.missing) == 0 {
		if t.within(seen.ratio) {
			return current, seen, nil
		}
		return ceil32(seen.ratio * float64(g.ready)), seen, nil
	}
	for _, pod := range g.missing {
		switch {
		case seen.ratio < 1:
			samples[pod] = sample{value: by.absent(pod)}
		case seen.ratio > 1:
			samples[pod] = sample{}
		}
	}
	if growing {
		for _, pod := range g.unready {
			samples[pod] = sample{}
		}
	}
	filled, err := by.of(samples)
	if err != nil {
		return 0, seen, err
	}
	if t.within(filled.ratio) || seen.ratio < 1 && filled.ratio > 1 || seen.ratio > 1 && filled.ratio < 1 {
		return current, seen, nil
	}
	wanted := ceil32(filled.ratio * float64(len(samples)))
	if filled.ratio < 1 && wanted > current || filled.ratio > 1 && wanted < current {
		return current, seen, nil
	}
	return wanted, seen, nil
}

// replicasForRatio is how many pods a value about all of them asks for; from
// zero pods neither readiness nor tolerance counts (getUsageRatioReplicaCount).
func replicasForRatio(ratio float64, pods []*corev1.Pod, current int32, t tolerances) (int32, error) {
	if current == 0 {
		return ceil32(ratio), nil
	}
	if t.within(ratio) {
		return current, nil
	}
	if len(pods) == 0 {
		return 0, fmt.Errorf("unable to calculate ready pods: %w", errNoPods)
	}
	ready := 0
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning && rollout.IsPodReady(pod) {
			ready++
		}
	}
	return ceil32(ratio * float64(ready)), nil
}

// replicasPerPod is how many pods share a value so that each has the target
// (GetExternalPerPodMetricReplicas, GetObjectPerPodMetricReplicas); average is
// what each has now.
func replicasPerPod(value, target int64, replicas int32, t tolerances) (wanted int32, average int64) {
	wanted = replicas
	if ratio := float64(value) / (float64(target) * float64(replicas)); !t.within(ratio) {
		wanted = ceil32(float64(value) / float64(target))
	}
	if each := math.Ceil(float64(value) / float64(replicas)); each < math.MaxInt64 {
		return wanted, int64(each)
	}
	return wanted, math.MaxInt64
}

// ceil32 rounds up, to the largest number of pods there can be at most.
func ceil32(f float64) int32 {
	if f = math.Ceil(f); f < math.MaxInt32 {
		return int32(f)
	}
	return math.MaxInt32
}

// requestsOf are the pods' requests of a resource in thousandths, of one
// container or of all (calculateRequests).
func requestsOf(pods []*corev1.Pod, container string, name corev1.ResourceName) (map[string]int64, error) {
	out := make(map[string]int64, len(pods))
	for _, pod := range pods {
		request, err := requestOf(pod, container, name)
		if err != nil {
			return nil, err
		}
		out[pod.Name] = request
	}
	return out, nil
}

func requestOf(pod *corev1.Pod, container string, name corev1.ResourceName) (int64, error) {
	if container == "" && resourcehelpers.IsPodLevelRequestsSet(pod) {
		q, ok := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})[name]
		if !ok {
			return 0, fmt.Errorf("missing pod-level request for %s in Pod %s", name, pod.Name)
		}
		return q.MilliValue(), nil
	}
	sum := int64(0)
	for _, c := range lasting(pod) {
		if container != "" && container != c.Name {
			continue
		}
		q, ok := c.Resources.Requests[name]
		if !ok {
			return 0, fmt.Errorf("missing request for %s in container %s of Pod %s", name, c.Name, pod.Name)
		}
		if sum += q.MilliValue(); container != "" {
			return sum, nil
		}
	}
	if container != "" {
		return 0, fmt.Errorf("container %s not found in Pod %s", container, pod.Name)
	}
	return sum, nil
}

// lasting are the containers that run as long as the pod does.
func lasting(pod *corev1.Pod) []*corev1.Container {
	var out []*corev1.Container
	for i := range pod.Spec.Containers {
		out = append(out, &pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			out = append(out, c)
		}
	}
	return out
}
