package kubelet

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Never is why a pod does not become ready; empty when it does.
type Never string

// The ways in which pods fail to become ready.
const (
	// Unready pods run and fail their readiness probe.
	Unready Never = "Unready"
	// ImagePull pods stay Pending since their image cannot be pulled.
	ImagePull Never = "ImagePullBackOff"
	// CrashLoop pods exit soon after each start.
	CrashLoop Never = "CrashLoopBackOff"
	// WhileOthers pods run, but are ready only once no pod of another revision
	// of the same owner is left, as those that wait for a lock.
	WhileOthers Never = "WhileOthers"
)

// Range is a duration drawn evenly between two bounds; High below Low means Low.
type Range struct{ Low, High time.Duration }

// Exactly is a range of one value.
func Exactly(d time.Duration) Range { return Range{d, d} }

func (r Range) draw(random *rand.Rand) time.Duration {
	if r.High <= r.Low {
		return r.Low
	}
	return r.Low + time.Duration(random.Int64N(int64(r.High-r.Low)+1))
}

// Profile is how a pod's containers behave. The zero value starts at once,
// ends at once and ends as a process without a SIGTERM handler does: Failed.
type Profile struct {
	// ReadyAfter counts from the binding to readiness. Of Probed pods it is about
	// those without readiness and startup probes, and counts from the moment at
	// which their init containers are done.
	ReadyAfter Range
	// ExitAfter counts from SIGTERM to the end of the last container. The
	// pod's grace period bounds it.
	ExitAfter Range
	// Never keeps the pod from becoming ready.
	Never Never
	// IgnoresSIGTERM pods use up their whole grace period.
	IgnoresSIGTERM bool
	// ExitsCleanly pods end with code 0, as Succeeded.
	ExitsCleanly bool
	// HooksIncluded: ExitAfter counts from the deletion and covers preStop hooks.
	HooksIncluded bool

	// Probed pods are ready when their own probes say so.
	Probed bool
	// AnswersAfter counts from the start of a container of a Probed pod until it answers its probes.
	AnswersAfter Range
	// InitFor is how long each init container runs.
	InitFor Range
	// HookFor is how long a hook takes whose length its spec does not tell.
	HookFor Range
	// PullFor is how long the first pull of an image on a node takes; zero when
	// images are there already.
	PullFor Range
	// Trouble is what goes wrong; nil for nothing.
	Trouble *Trouble
}

// Trouble is what goes wrong with a pod's containers at certain times.
type Trouble struct {
	// Container is the one it is about; empty means all but init containers and sidecars.
	Container string
	// Missing is when its image cannot be pulled where it is not there yet.
	Missing []Window
	// Fails is when it fails its probes.
	Fails []Outage
	Crash *Exit
}

// Window is a time from one moment to, but not including, another. A zero From
// is ever since, a zero To for ever.
type Window struct{ From, To time.Time }

func (w Window) covers(at time.Time) bool {
	return !at.Before(w.From) && (w.To.IsZero() || at.Before(w.To))
}

// edge is the first bound after a moment; the zero time when there is none.
func (w Window) edge(at time.Time) time.Time {
	for _, bound := range []time.Time{w.From, w.To} {
		if bound.After(at) {
			return bound
		}
	}
	return time.Time{}
}

// Outage is a window in which probes fail: those of Kinds, or all for none.
type Outage struct {
	Window
	Kinds []ProbeKind
}

// Exit is how a container exits by itself.
type Exit struct {
	After  Range // from each start
	Code   int32
	Reason string // of the container's state; empty means Completed for code 0, or else Error
	Times  int    // so often; 0 is for ever
}

// Profiles says how a pod behaves. It is asked once, when its kubelet first
// sees the pod.
type Profiles func(pod *corev1.Pod) Profile
