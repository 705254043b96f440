package timeline

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Totals are what a workload's run adds up to.
type Totals struct {
	Created, Deleted int32 // pods
	// Peak is the most active pods at once, PeakObjects that with the
	// terminating ones, first reached at PeakObjectsAt.
	Peak, PeakObjects int32
	PeakObjectsAt     time.Duration
	// Least is the fewest available pods, first at LeastAt; Below is how long
	// there were fewer than needed.
	Least          int32
	LeastAt, Below time.Duration
	// LongestWait is the longest stretch without progress, as the Deployment
	// controller understands it (DeploymentProgressing), up to completion.
	LongestWait time.Duration
	// CompleteAt is when the workload was complete for good; negative if it was not.
	CompleteAt time.Duration
	// LastMove is when its numbers last changed.
	LastMove time.Duration
}

// Totals adds up a workload.
func (t *Timeline) Totals(w *Workload) Totals {
	s := Totals{CompleteAt: t.completeAt(w)}
	for _, p := range w.Pods {
		if !p.Found && len(p.Lane) > 0 {
			s.Created++
		}
		if p.deleted {
			s.Deleted++
		}
	}
	for i, p := range w.Points {
		s.add(p, i == 0)
		if p.Available < p.Needed {
			s.Below += t.until(w, i) - p.At
		}
	}
	from, to := t.longestWait(w, s.CompleteAt)
	s.LongestWait = to - from
	return s
}

func (s *Totals) add(p Point, first bool) {
	s.Peak = max(s.Peak, p.Active)
	if objects := p.Active + p.Terminating; objects > s.PeakObjects {
		s.PeakObjects, s.PeakObjectsAt = objects, p.At
	}
	if first || p.Available < s.Least {
		s.Least, s.LeastAt = p.Available, p.At
	}
	if !first {
		s.LastMove = p.At
	}
}

// until is when the counts of the i-th point end.
func (t *Timeline) until(w *Workload, i int) time.Duration {
	if i+1 < len(w.Points) {
		return w.Points[i+1].At
	}
	return t.End
}

// complete says whether the counts are those of a finished rollout: all pods
// new, as many as desired, all available. (DeploymentComplete, of the pods
// themselves rather than of the statuses, which lag)
func (w *Workload) complete(c Counts) bool {
	if w.Bare() {
		return c.Active == c.Desired && c.Available == c.Desired
	}
	return w.newSet != "" && c.New == c.Desired && c.Old == 0 &&
		c.Updated == c.Desired && c.Active == c.Desired && c.Available == c.Desired
}

// completeAt is when a workload was complete for good, and a Deployment had
// published it where the trace shows that; -1 if it was not.
func (t *Timeline) completeAt(w *Workload) time.Duration {
	if w.Gone {
		return t.End
	}
	n := len(w.Points)
	if n == 0 || !w.complete(w.Points[n-1].Counts) {
		return -1
	}
	for n > 1 && w.complete(w.Points[n-2].Counts) {
		n--
	}
	at := w.Points[n-1].At
	if n == 1 {
		return at
	}
	return max(at, w.publishedAt())
}

// publishedAt is when the Deployment's status first said, without taking it
// back, that the rollout of the last spec was complete; 0 when it never did.
func (w *Workload) publishedAt() time.Duration {
	spec := w.Spec()
	at := time.Duration(0)
	for _, s := range w.statuses {
		done := s.ObservedGeneration >= spec.Generation && s.Updated == spec.Replicas &&
			s.Replicas == spec.Replicas && s.Available == spec.Replicas
		switch {
		case !done:
			at = 0
		case at == 0:
			at = s.at
		}
	}
	return at
}

// LongestWait is the longest stretch without progress of a workload, from its
// first change to its completion or the end of the run; both are zero when it
// did nothing.
func (t *Timeline) LongestWait(ref trace.Ref) (from, to time.Duration) {
	for _, w := range t.Workloads {
		if w.Object == ref {
			return t.longestWait(w, t.completeAt(w))
		}
	}
	return 0, 0
}

func (t *Timeline) longestWait(w *Workload, complete time.Duration) (from, to time.Duration) {
	if w.idle() || len(w.Points) == 0 {
		return 0, 0
	}
	end := t.End
	if complete >= 0 {
		end = complete
	}
	last := w.Points[0].At
	if len(w.Changes) > 0 {
		last = w.Changes[0].At
	}
	longer := func(until time.Duration) {
		if until-last > to-from {
			from, to = last, until
		}
	}
	for i := 1; i < len(w.Points) && w.Points[i].At <= end; i++ {
		if w.complete(w.Points[i-1].Counts) {
			last = max(last, w.Points[i].At) // until then there was nothing to wait for
		}
		if p := w.Points[i]; progressed(w.Points[i-1].Counts, p.Counts) && p.At > last {
			longer(p.At)
			last = p.At
		}
	}
	if complete < 0 || complete > last {
		longer(end)
	}
	return from, to
}

// progressed is what counts as progress from one moment to the next. (DeploymentProgressing)
func progressed(was, is Counts) bool {
	return is.Updated > was.Updated || is.Active-is.Updated < was.Active-was.Updated ||
		is.Ready > was.Ready || is.Available > was.Available
}
