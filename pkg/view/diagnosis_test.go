package view_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

func TestDiagnosisIsShownToPeople(t *testing.T) {
	for name, test := range map[string]struct {
		diagnosis v1alpha1.Diagnosis
		want, not []string
	}{
		"a remedy replaces the reason's own": {
			v1alpha1.Diagnosis{
				Constraints: []v1alpha1.Constraint{{Message: "quota full"}, {Message: "nobody may go"}},
				Remedies: []v1alpha1.Remedy{
					{Changes: []string{"more quota"}, DurationSeconds: 9, PeakPods: 13, LeastAvailable: 12},
					{Changes: []string{"this", "that"}, DurationSeconds: 0.5, PeakPods: 1},
				},
			},
			[]string{
				"held by    quota full\n           nobody may go\n",
				"  mend     more quota: complete after 9s, at most 13 pods at once, never below 12 of 2 available\n",
				"  or       this, and that: complete after 0.5s, at most 1 pod at once, never below 0 of 2 available\n",
			},
			[]string{"quota \"team\" is full"},
		},
		"without a remedy the reason's own stands": {
			v1alpha1.Diagnosis{Runs: 7},
			[]string{"quota \"team\" is full", "none of the changes that were tried in 7 runs would let it go on"}, []string{"held by"},
		},
		"left out": {
			v1alpha1.Diagnosis{Omitted: "too large"}, []string{"not looked into further: too large"}, []string{"were tried in"},
		},
		"a wait": {
			v1alpha1.Diagnosis{Wait: &v1alpha1.Wait{FromSeconds: 10, ToSeconds: 110, Reasons: []v1alpha1.Reason{{Message: "a pod", TriedSeconds: []float64{1, 2.5}}}}},
			[]string{"waited     100s, from 10s to 110s\n  for      a pod\n  tried    2 times, at 1, 2.5 s\n"}, nil,
		},
		"hostile": {
			v1alpha1.Diagnosis{Constraints: []v1alpha1.Constraint{{Message: "a\x1b[31mb"}}}, []string{`held by    a\x1b[31mb`}, []string{"\x1b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := timeline.NewPlan(v1alpha1.RolloutPlanSpec{}, eventscript.Quota())
			plan.Status.Workloads[0].Diagnosis = &test.diagnosis
			var out bytes.Buffer
			if err := view.Human(&out, plan, view.Options{Width: 160, Color: view.Never}); err != nil {
				t.Fatal(err)
			}
			for _, text := range test.want {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing in\n%s", text, out.String())
				}
			}
			for _, text := range test.not {
				if strings.Contains(out.String(), text) {
					t.Errorf("%q is in\n%s", text, out.String())
				}
			}
		})
	}
}
