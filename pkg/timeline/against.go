package timeline

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Predicted is what a plan says, for comparison with what then happens.
func Predicted(plan *v1alpha1.RolloutPlan) *v1alpha1.Predicted {
	t := Of(plan)
	p := &v1alpha1.Predicted{Verdict: plan.Status.Verdict, DurationSeconds: plan.Status.DurationSeconds}
	for _, e := range t.Events {
		d, ok := e.Detail.(trace.Scaled)
		w := t.WorkloadOf(e)
		if !ok || w == nil || t.Echo(e.Seq) {
			continue
		}
		p.Steps = append(p.Steps, v1alpha1.PredictedStep{
			OffsetSeconds: seconds(e.Offset), ReplicaSet: e.Object, Workload: w.Object, From: d.From, To: d.To,
			New: w.Bare() || w.IsNew(e.Object.Name),
		})
	}
	return p
}

// Deviation is how much later than planned a ReplicaSet came as far as a
// Scaled event takes it, negative for earlier; false when the plan has no such
// step. A wave may split into other steps than planned.
func (t *Timeline) Deviation(p *v1alpha1.Predicted, e trace.Event) (time.Duration, bool) {
	d, ok := e.Detail.(trace.Scaled)
	w := t.WorkloadOf(e)
	if p == nil || !ok || w == nil {
		return 0, false
	}
	for _, s := range p.Steps {
		if w.means(s, e.Object) && reaches(s.From, s.To, d.To) && (s.To > s.From) == (d.To > d.From) {
			return e.Offset - time.Duration(s.OffsetSeconds*float64(time.Second)), true
		}
	}
	return 0, false
}

// reaches says that a step goes as far as a size, or beyond it.
func reaches(from, to, size int32) bool {
	if to > from {
		return to >= size
	}
	return to <= size
}

// means says whether a planned step is about a ReplicaSet.
func (w *Workload) means(s v1alpha1.PredictedStep, set trace.Ref) bool {
	isNew := w.Bare() || w.IsNew(set.Name)
	return s.Workload == w.Object && (s.ReplicaSet == set || s.New && isNew) && s.New == isNew
}

// Next is the first planned step that has not been taken; false when all have.
func (t *Timeline) Next(p *v1alpha1.Predicted) (v1alpha1.PredictedStep, bool) {
	if p == nil {
		return v1alpha1.PredictedStep{}, false
	}
	for _, s := range p.Steps {
		if !t.taken(s) {
			return s, true
		}
	}
	return v1alpha1.PredictedStep{}, false
}

func (t *Timeline) taken(s v1alpha1.PredictedStep) bool {
	for _, w := range t.Workloads {
		for _, set := range w.Sets {
			if w.means(s, set.Object) && set.reached(s) {
				return true
			}
		}
	}
	return false
}

func (s *Set) reached(step v1alpha1.PredictedStep) bool {
	for i, size := range s.Sizes {
		if size.Replicas != step.From && between(step.From, step.To, size.Replicas) && (i > 0 || step.From == 0) {
			return true
		}
	}
	return s.Gone && step.To == 0
}

// between says that going from one size to another ends at a size or before it.
func between(from, to, size int32) bool {
	if to > from {
		return size >= to
	}
	return size <= to
}
