package sim

import (
	"math/rand/v2"
	"time"
)

// Latency names what takes time in a cluster.
type Latency int

// The latencies a world draws from.
const (
	CallLatency      Latency = iota // one API request and its answer
	WatchLatency                    // a write reaching a cache
	SchedulePod                     // the scheduler's work on one pod, one after the other
	BindPod                         // from the choice of a node to the stored binding
	StartPod                        // from bound to Running, beyond the pod's own time
	ReadyLag                        // from a probe's success to the published condition
	RemovePod                       // from the last container's exit to the pod's terminal status
	WriteEvent                      // one write of a Kubernetes Event, behind the controller's back
	CollectDependent                // the garbage collector's work on one object
	latencies
)

// Spread is a range that latencies are drawn from: mostly near Low, with a tail.
type Spread struct {
	Low, High time.Duration
	// TailTo is the largest value, reached by about one in twenty draws; zero means High.
	TailTo time.Duration
}

// Timing is how long things take. The zero value is instant.
type Timing [latencies]Spread

// InstantTiming lets every call and watch take no time, so that only the arithmetic shows.
func InstantTiming() Timing { return Timing{} }

// Instant reports whether nothing takes time.
func (t Timing) Instant() bool { return t == Timing{} }

// ClusterTiming is what a real 1.37 control plane on one machine showed
// (see docs/decisions/0003-timing.md).
func ClusterTiming() Timing {
	ms := time.Millisecond
	return Timing{
		CallLatency:      {5 * ms, 15 * ms, 40 * ms},
		WatchLatency:     {1 * ms, 4 * ms, 12 * ms},
		SchedulePod:      {2 * ms, 5 * ms, 8 * ms},
		BindPod:          {3 * ms, 10 * ms, 20 * ms},
		StartPod:         {4 * ms, 30 * ms, 90 * ms},
		ReadyLag:         {10 * ms, 30 * ms, 70 * ms},
		RemovePod:        {12 * ms, 60 * ms, 200 * ms},
		WriteEvent:       {6 * ms, 30 * ms, 100 * ms},
		CollectDependent: {5 * ms, 40 * ms, 100 * ms},
	}
}

func (t *Timing) draw(d Latency, r *rand.Rand) time.Duration {
	s := t[d]
	if s.High <= s.Low {
		return s.Low
	}
	if s.TailTo > s.High && r.IntN(20) == 0 {
		return s.High + time.Duration(r.Int64N(int64(s.TailTo-s.High)))
	}
	return s.Low + time.Duration(r.Int64N(int64(s.High-s.Low)))
}
