package scheduler

import "time"

// Pods that have been unschedulable for longer than lingerMax are tried again
// without an occasion: what lets them in may be a change that wakes nobody, as
// that of a namespace's labels. They are looked for every lingerPeriod
// (backend/queue/scheduling_queue.go DefaultPodMaxInUnschedulablePodsDuration, Run).
const (
	lingerMax    = 5 * time.Minute
	lingerPeriod = 30 * time.Second
)

// lingering says whether a pod has been unschedulable for too long.
func lingering(now time.Time) func(*entry) bool {
	return func(e *entry) bool { return now.Sub(e.since) > lingerMax }
}

// awaitLingering sees to it that there is a round when some pod has been
// unschedulable for too long. A world may end without it.
func (s *Plugin) awaitLingering() {
	if s.linger != nil || len(s.queue.stuck) == 0 {
		return
	}
	now := s.h.Now()
	oldest := s.queue.stuck[0].since
	for _, e := range s.queue.stuck[1:] {
		if e.since.Before(oldest) {
			oldest = e.since
		}
	}
	due := oldest.Add(lingerMax)
	if due.Before(now) { // it waits for its victims to be deleted
		due = now
	}
	s.linger = s.h.AfterIdle(s.roundFrom(due.Add(1)).Sub(now), s.tryLingering)
}

// roundFrom is the first round at or after a time. When rounds are made is
// drawn after the first pod has lingered, so that other runs draw nothing.
func (s *Plugin) roundFrom(t time.Time) time.Time {
	since := t.Sub(s.round) % lingerPeriod
	switch {
	case s.round.IsZero(), since == 0:
		return t
	case since < 0:
		return t.Add(-since)
	}
	return t.Add(lingerPeriod - since)
}

// tryLingering is one round (flushUnschedulableEntitiesLeftover).
func (s *Plugin) tryLingering() {
	s.linger = nil
	now := s.h.Now()
	if s.round.IsZero() {
		if s.round = now; !s.h.Instant() {
			s.round = now.Add(time.Duration(s.h.Rand().Int64N(int64(lingerPeriod))))
		}
	}
	if s.roundFrom(now).Equal(now) && s.queue.wake(lingering(now), now, s.early(), s.h.Cause()) {
		s.pump()
	}
	s.awaitLingering()
}
