package timeline

import (
	"cmp"
	"slices"
	"time"
)

// All adds the workloads of a run up as if they were one: what was created and
// deleted, and the most pods at once. What only one workload can have, such as
// its completion, is left zero.
func (t *Timeline) All() Totals {
	var sum Totals
	type step struct {
		at              time.Duration
		active, objects int32 // by how much they change
	}
	var steps []step
	for _, w := range t.Workloads {
		totals := t.Totals(w)
		sum.Created, sum.Deleted = sum.Created+totals.Created, sum.Deleted+totals.Deleted
		sum.LastMove = max(sum.LastMove, totals.LastMove)
		var was Counts
		for _, p := range w.Points {
			steps = append(steps, step{p.At, p.Active - was.Active, p.Active + p.Terminating - was.Active - was.Terminating})
			was = p.Counts
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var active, objects int32
	for i, s := range steps {
		active, objects = active+s.active, objects+s.objects
		if i+1 < len(steps) && steps[i+1].at == s.at {
			continue // what happens at one moment is seen as a whole
		}
		sum.Peak = max(sum.Peak, active)
		if objects > sum.PeakObjects {
			sum.PeakObjects, sum.PeakObjectsAt = objects, s.at
		}
	}
	return sum
}
