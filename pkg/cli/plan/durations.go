package plan

import (
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What is assumed of pods nothing else is known about.
const (
	assumedReady = 2 * time.Second
	assumedExit  = time.Second
)

// readyAfter is how long a pod is assumed to take when nobody says: two
// seconds, and the longest initial delay of its probes.
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

// exitAfter is how long a pod is assumed to take to go when nobody says: the
// longest pause of its preStop hooks, and one second. What else a hook does is
// not known.
func exitAfter(spec *corev1.PodSpec) time.Duration {
	var pause time.Duration
	for i := range spec.Containers {
		if l := spec.Containers[i].Lifecycle; l != nil && l.PreStop != nil {
			pause = max(pause, preStopPause(l.PreStop))
		}
	}
	return pause + assumedExit
}

func preStopPause(hook *corev1.LifecycleHandler) time.Duration {
	switch {
	case hook.Sleep != nil:
		return time.Duration(max(hook.Sleep.Seconds, 0)) * time.Second
	case hook.Exec != nil:
		return sleepOf(hook.Exec.Command)
	}
	return 0
}

// sleepOf reads the pause of sleep N and sh -c "sleep N", the usual hooks; of a
// longer script, the first.
func sleepOf(command []string) time.Duration {
	words := strings.Fields(strings.NewReplacer(";", " ", "&&", " ").Replace(strings.Join(command, " ")))
	for len(words) > 0 && (words[0] == "-c" || strings.HasSuffix(path.Base(words[0]), "sh")) {
		words = words[1:]
	}
	if len(words) < 2 || path.Base(words[0]) != "sleep" {
		return 0
	}
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(words[1], "s"), 64)
	if err != nil || !(seconds >= 0 && seconds <= maxPause.Seconds()) { // NaN is neither
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// maxPause is a day; what says more is not a pause.
const maxPause = 24 * time.Hour
