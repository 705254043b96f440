package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Diverged is where a run first left what a plan had said; nil when it never
// did. Waves that split into other steps are no divergence, and neither are
// other times: Deviation tells those. Offsets of steps that were not taken are
// the planned ones.
func (t *Timeline) Diverged(p *v1alpha1.Predicted) *v1alpha1.Divergence {
	if p == nil {
		return nil
	}
	if found := append(t.unplanned(p), t.missing(p)...); len(found) > 0 {
		first := slices.MinFunc(found, func(a, b v1alpha1.Divergence) int { return cmp.Compare(a.OffsetSeconds, b.OffsetSeconds) })
		return &first
	}
	if verdict := t.Status().Verdict; verdict != p.Verdict && len(t.Workloads) > 0 {
		return &v1alpha1.Divergence{
			OffsetSeconds: seconds(t.End), Object: t.Workloads[0].Object,
			Message: fmt.Sprintf("it ended as %s, planned was %s", verdict, p.Verdict),
		}
	}
	return nil
}

// unplanned is the first step of the run that the plan has none for.
func (t *Timeline) unplanned(p *v1alpha1.Predicted) []v1alpha1.Divergence {
	for _, e := range t.Events {
		d, ok := e.Detail.(trace.Scaled)
		if !ok || t.WorkloadOf(e) == nil || t.Echo(e.Seq) {
			continue
		}
		if _, planned := t.Deviation(p, e); planned {
			continue
		}
		message := fmt.Sprintf("%s was scaled %d -> %d, which was not planned", e.Object.Name, d.From, d.To)
		if next, ok := t.nextAfter(p, e); ok {
			message += fmt.Sprintf("; planned was %s", stepWords(next))
		}
		return []v1alpha1.Divergence{{OffsetSeconds: seconds(e.Offset), Object: e.Object, Message: message}}
	}
	return nil
}

// nextAfter is the planned step that an event stands in the place of: the first
// one of its workload that was not taken before.
func (t *Timeline) nextAfter(p *v1alpha1.Predicted, e trace.Event) (v1alpha1.PredictedStep, bool) {
	so := t.before(e)
	for _, s := range p.Steps {
		if s.Workload == t.WorkloadOf(e).Object && !so.taken(s) {
			return s, true
		}
	}
	return v1alpha1.PredictedStep{}, false
}

// before is the run up to an event.
func (t *Timeline) before(e trace.Event) *Timeline {
	n, _ := slices.BinarySearchFunc(t.Events, e.Seq, func(e trace.Event, seq trace.Seq) int { return cmp.Compare(e.Seq, seq) })
	var refs []trace.Ref
	for _, w := range t.Workloads {
		refs = append(refs, w.Object)
	}
	return Build(t.Events[:n], Options{Workloads: refs})
}

// missing is the first planned step that the run did not take.
func (t *Timeline) missing(p *v1alpha1.Predicted) []v1alpha1.Divergence {
	next, ok := t.Next(p)
	if !ok {
		return nil
	}
	return []v1alpha1.Divergence{{
		OffsetSeconds: next.OffsetSeconds, Object: next.ReplicaSet,
		Message: fmt.Sprintf("planned was %s, which did not happen", stepWords(next)),
	}}
}

func stepWords(s v1alpha1.PredictedStep) string {
	return fmt.Sprintf("%s %d -> %d at %.3fs", s.ReplicaSet.Name, s.From, s.To, (time.Duration(s.OffsetSeconds * float64(time.Second))).Seconds())
}
