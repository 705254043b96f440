package kubelet

import (
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maxPause is a day; what says more is not a pause.
const maxPause = 24 * time.Hour

// HookTime is how long a hook takes as far as its spec tells: the pause of a
// sleep action, of sleep N and of sh -c "sleep N; …". Of all else it is not known.
func HookTime(hook *corev1.LifecycleHandler) (d time.Duration, known bool) {
	switch {
	case hook == nil:
		return 0, true
	case hook.Sleep != nil:
		return min(time.Duration(max(hook.Sleep.Seconds, 0))*time.Second, maxPause), true
	case hook.Exec != nil:
		return sleepOf(hook.Exec.Command)
	}
	return 0, false
}

// sleepOf reads the pause of the usual hooks; of a longer script, the first.
func sleepOf(command []string) (time.Duration, bool) {
	words := strings.Fields(strings.NewReplacer(";", " ", "&&", " ").Replace(strings.Join(command, " ")))
	for len(words) > 0 && (words[0] == "-c" || strings.HasSuffix(path.Base(words[0]), "sh")) {
		words = words[1:]
	}
	if len(words) < 2 || path.Base(words[0]) != "sleep" {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(words[1], "s"), 64)
	if err != nil || !(seconds >= 0 && seconds <= maxPause.Seconds()) { // NaN is neither
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// hookTime is HookTime, or what the profile says of hooks that do not tell.
func (l *life) hookTime(hook *corev1.LifecycleHandler) time.Duration {
	if d, known := HookTime(hook); known {
		return d
	}
	return l.profile.HookFor.draw(l.k.h.Rand())
}

func preStop(c *corev1.Container) *corev1.LifecycleHandler {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}

func postStart(c *corev1.Container) *corev1.LifecycleHandler {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PostStart
}
