package view

import "github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"

// diverged says where a rollout left the plan it is compared with.
func (l *Live) diverged(d *v1alpha1.Divergence) {
	if d != nil {
		l.out.labelled("left plan", resultColumn, bad, "at "+brief(d.OffsetSeconds)+": "+d.Message)
	}
}
