package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// resultColumn is where the facts of the result begin; sparks is how many
// stretches of time its picture of availability has.
const (
	resultColumn = 11
	sparks       = 20
)

// result is the verdict, its reasons and the totals.
func (s *section) result(out *printer) {
	out.labelled("result", resultColumn, toneOf(s.status.Verdict), s.verdict())
	for _, r := range s.status.Reasons {
		out.labelled("reason", resultColumn, plain, r.Message)
		s.tried(out, r)
		s.mend(out, r)
	}
	s.diagnosis(out)
	if s.status.Verdict == v1alpha1.NothingToDo {
		return
	}
	out.labelled("pods", resultColumn, plain, s.pods())
	out.parts("available", resultColumn, "      ", s.available())
	out.labelled("deadline", resultColumn, plain, s.deadline())
}

func (s *section) verdict() string {
	return ended(s.status.Verdict, s.status.DurationSeconds)
}

// ended is a verdict with its time.
func ended(v v1alpha1.Verdict, seconds float64) string {
	verdict, took := string(v), brief(seconds)
	switch v {
	case v1alpha1.Complete:
		return verdict + " after " + took
	case v1alpha1.NothingToDo:
		return verdict
	case v1alpha1.Stuck, v1alpha1.Paused:
		return verdict + ", nothing moves after " + took
	}
	return verdict + " at " + took
}

func (s *section) pods() string {
	p := s.status.Pods
	text := fmt.Sprintf("created %d, deleted %d;  at most %d at once", p.Created, p.Deleted, p.Peak)
	if p.PeakWithTerminating > p.Peak {
		text += fmt.Sprintf(", %d with those terminating (at %s)", p.PeakWithTerminating, brief(p.PeakWithTerminatingSeconds))
	}
	return text
}

func (s *section) available() []string {
	a := s.status.Available
	text := fmt.Sprintf("never below %d of %d (%d allowed)", a.Least, a.Desired, a.Needed)
	if a.BelowNeededSeconds > 0 || a.Least < a.Needed {
		when := "down to %d of %d at " + brief(a.LeastSeconds)
		if a.LeastSeconds == 0 {
			when = "starts with %d of %d"
		}
		text = fmt.Sprintf(when+" (%d needed), too few for %s in all", a.Least, a.Desired, a.Needed, brief(a.BelowNeededSeconds))
	}
	parts := []string{text}
	if spark := s.sparkline(); spark != "" {
		parts = append(parts, spark)
	}
	return parts
}

// sparkline is the availability over time, in eighths of the desired pods: how
// it began, stretches of equal length at their lowest, so that no dip is lost,
// and how it ended.
func (s *section) sparkline() string {
	points, end := s.workload.Points, s.totals.LastMove
	if end <= 0 || s.status.Available.Desired == 0 {
		return ""
	}
	now, next := points[0].Available, 1
	var b strings.Builder
	b.WriteRune(s.level(now))
	for i := range sparks - 2 {
		until := end * time.Duration(i+1) / (sparks - 2)
		lowest := now
		for ; next < len(points) && points[next].At <= until; next++ {
			now = points[next].Available
			lowest = min(lowest, now)
		}
		b.WriteRune(s.level(lowest))
	}
	b.WriteRune(s.level(now))
	return b.String()
}

// level is the mark for a number of available pods: a dot for none.
func (s *section) level(available int32) rune {
	marks := []rune("·▁▂▃▄▅▆▇█")
	desired := int(s.status.Available.Desired)
	return marks[min((int(available)*8+desired-1)/desired, 8)]
}

func (s *section) deadline() string {
	wait := "longest wait for progress " + brief(s.status.LongestWaitForProgressSeconds)
	if d := s.workload.Spec().ProgressDeadlineSeconds; d != nil && *d != 1<<31-1 {
		return fmt.Sprintf("%ds%s; %s", *d, s.missed(), wait)
	}
	return "none; " + wait
}

// missed says when a deadline was missed of a rollout that went on all the same.
func (s *section) missed() string {
	if s.status.Verdict == v1alpha1.DeadlineExceeded {
		return ""
	}
	text, link := "", ", missed at "
	for _, at := range s.status.DeadlineMissedSeconds {
		text, link = text+link+brief(at), " and "
	}
	return text
}
