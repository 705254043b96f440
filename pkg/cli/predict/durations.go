package predict

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// What is assumed of pods nothing else is known about.
const (
	assumedReady = 2 * time.Second // from the binding, or the start of a container, to its service
	assumedExit  = time.Second     // from SIGTERM to the end
	assumedInit  = time.Second     // of each init container
)

// readyAfter is about how long a pod takes: two seconds, and the longest
// initial delay of its probes.
func readyAfter(spec *corev1.PodSpec) time.Duration {
	var delay int32
	for i := range spec.Containers {
		c := &spec.Containers[i]
		own := initialDelay(c.StartupProbe)
		if c.StartupProbe == nil || c.ReadinessProbe != nil {
			own = max(own, initialDelay(c.ReadinessProbe))
		}
		delay = max(delay, own)
	}
	return assumedReady + time.Duration(delay)*time.Second
}

func initialDelay(p *corev1.Probe) int32 {
	if p == nil {
		return 0
	}
	return max(p.InitialDelaySeconds, 0)
}

// answersAfter is how long a container is assumed to take until it answers its
// probes: two seconds, or less where one of its probes would kill it by then.
func answersAfter(spec *corev1.PodSpec) time.Duration {
	d := assumedReady
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			for _, p := range []*corev1.Probe{list[i].StartupProbe, list[i].LivenessProbe} {
				if p != nil {
					d = min(d, bearable(p))
				}
			}
		}
	}
	return d
}

// bearable is how long a container may fail a probe at the least before it is killed.
func bearable(p *corev1.Probe) time.Duration {
	failures, period := int64(p.FailureThreshold), int64(p.PeriodSeconds)
	if failures <= 0 {
		failures = 3 // what a server fills in
	}
	if period <= 0 {
		period = 10
	}
	ticks := min(failures-1, int64(time.Hour/time.Second))
	return min(time.Duration(int64(initialDelay(p))+ticks*period), time.Hour/time.Second) * time.Second
}

// probed says whether probes decide when pods of a template are ready.
func probed(spec *corev1.PodSpec) bool {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if list[i].StartupProbe != nil || list[i].ReadinessProbe != nil {
				return true
			}
		}
	}
	return false
}

// exitAfter is how long a pod is assumed to take to go: the longest pause of
// its preStop hooks, and one second, as far as its grace period allows.
func exitAfter(spec *corev1.PodSpec) time.Duration {
	var pause time.Duration
	for _, hook := range hooks(spec) {
		d, _ := kubelet.HookTime(hook)
		pause = max(pause, d)
	}
	if grace := spec.TerminationGracePeriodSeconds; grace != nil {
		pause = min(pause, time.Duration(max(*grace, 1))*time.Second)
	}
	return pause + assumedExit
}

// hooks are the preStop hooks of a pod's containers.
func hooks(spec *corev1.PodSpec) (out []*corev1.LifecycleHandler) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if l := list[i].Lifecycle; l != nil && l.PreStop != nil {
				out = append(out, l.PreStop)
			}
		}
	}
	return out
}

// vague says whether a hook does not tell how long it takes.
func vague(spec *corev1.PodSpec) bool {
	for _, hook := range hooks(spec) {
		if _, known := kubelet.HookTime(hook); !known {
			return true
		}
	}
	return false
}
