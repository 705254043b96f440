package kubelet

import "time"

// What kubelets wait (kubelet.go, apis/config/v1beta1/defaults.go). The
// settings and gates that would change it are off in every release.
const (
	backOffBase = 10 * time.Second
	backOffCap  = 300 * time.Second
	// syncPeriod is when a kubelet looks again at a pod whose sync failed
	// (backOffPeriod), and syncCap the longest it waits for that.
	syncPeriod, syncCap = 10 * time.Second, time.Minute
	// syncJitter is by how much such a wait may be longer (workerBackOffPeriodJitterFactor).
	syncJitter = 0.5
	// relistPeriod is how often the container runtime is asked what has changed (generic PLEG).
	relistPeriod = time.Second
)

// backOff is a wait that doubles with each use and begins anew when it was not
// used for twice its cap (client-go util/flowcontrol Backoff).
type backOff struct {
	delay time.Duration
	since time.Time
}

func (b *backOff) expired(at time.Time) bool {
	return b.delay == 0 || at.Sub(b.since) > 2*backOffCap
}

// until is when the wait that began with an event ends; the zero time when there is none.
func (b *backOff) until(event time.Time) time.Time {
	if b.expired(event) {
		return time.Time{}
	}
	return event.Add(b.delay)
}

// next lengthens the wait.
func (b *backOff) next(event, now time.Time) {
	if b.expired(event) {
		b.delay = backOffBase
	} else {
		b.delay = min(2*b.delay, backOffCap)
	}
	b.since = now
}

// relist is how long it takes until a kubelet notices what its containers did.
func (k *Plugin) relist() time.Duration {
	if k.h.Instant() || k.h.Settling() {
		return 0
	}
	return time.Duration(k.h.Rand().Int64N(int64(relistPeriod)))
}

// jittered is a wait between two looks at a pod.
func (k *Plugin) jittered(d time.Duration) time.Duration {
	if k.h.Instant() {
		return d
	}
	return d + time.Duration(k.h.Rand().Float64()*syncJitter*float64(d))
}

// lookAfter is when a kubelet first looks at a pod once a moment has come, if
// each look is followed by one after the time that is left, a minute at most.
func (k *Plugin) lookAfter(until time.Time) time.Duration {
	now := k.h.Now()
	t := now
	for t.Before(until) {
		t = t.Add(k.jittered(max(min(until.Sub(t), syncCap), time.Millisecond)))
	}
	return t.Sub(now)
}
