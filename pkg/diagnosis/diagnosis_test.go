package diagnosis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/diagnosis"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var web = trace.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}

// stuck is a rollout that a full quota keeps from going on.
func stuck() *v1alpha1.RolloutPlan {
	plan := timeline.NewPlan(v1alpha1.RolloutPlanSpec{Workloads: []trace.Ref{web}}, eventscript.Quota())
	plan.Status.Workloads[0].Verdict = v1alpha1.Stuck
	return plan
}

// world is a lab that completes when a condition holds of its objects.
type world struct {
	objects []diagnosis.Object
	runs    int
	good    func(objects []diagnosis.Object) bool
	size    int // events of a run
	err     error
}

func (w *world) replay(_ context.Context, r diagnosis.Relaxed) (*v1alpha1.RolloutPlan, error) {
	w.runs++
	objects := slices.Clone(w.objects)
	for i := range objects {
		if r.Edit != nil {
			objects[i] = r.Edit(objects[i])
		}
	}
	status := v1alpha1.WorkloadStatus{Object: web, Verdict: v1alpha1.Stuck}
	if w.good(objects) {
		status = v1alpha1.WorkloadStatus{Object: web, Verdict: v1alpha1.Complete, DurationSeconds: 9, Pods: v1alpha1.PodTotals{Peak: 13}, Available: v1alpha1.Availability{Least: 12}}
	}
	plan := &v1alpha1.RolloutPlan{Status: v1alpha1.RolloutPlanStatus{Workloads: []v1alpha1.WorkloadStatus{status}}}
	plan.Events = make([]trace.Event, w.size)
	return plan, w.err
}

func objects() []diagnosis.Object {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: "default"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("12")}}}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	return []diagnosis.Object{d, quota}
}

func raised(all []diagnosis.Object) bool {
	hard := all[1].(*corev1.ResourceQuota).Spec.Hard[corev1.ResourcePods]
	return hard.Value() > 12
}

func unavailable(all []diagnosis.Object) bool {
	u := all[0].(*appsv1.Deployment).Spec.Strategy.RollingUpdate
	return u != nil && u.MaxUnavailable.IntValue() == 1
}

func explain(t *testing.T, w *world, plan *v1alpha1.RolloutPlan) *v1alpha1.Diagnosis {
	t.Helper()
	if err := diagnosis.Explain(context.Background(), diagnosis.Case{Plan: plan, Objects: w.objects, Whole: true, Replay: w.replay}); err != nil {
		t.Fatal(err)
	}
	return plan.Status.Workloads[0].Diagnosis
}

func types(d *v1alpha1.Diagnosis) (out []string) {
	for _, r := range d.Remedies {
		words := make([]string, len(r.Types))
		for i, kind := range r.Types {
			words[i] = string(kind)
		}
		out = append(out, strings.Join(words, "+"))
	}
	return out
}

func TestSingleChangesComeFirst(t *testing.T) {
	for name, test := range map[string]struct {
		good func([]diagnosis.Object) bool
		want []string
	}{
		"either": {func(o []diagnosis.Object) bool { return raised(o) || unavailable(o) }, []string{"Quota", "MaxUnavailable"}},
		"one":    {raised, []string{"Quota"}},
		"both": {func(o []diagnosis.Object) bool {
			return raised(o) && o[0].(*appsv1.Deployment).Spec.Strategy.Type == "Recreate"
		}, []string{"Quota+MaxUnavailable"}},
		"nothing": {func([]diagnosis.Object) bool { return false }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{objects: objects(), good: test.good}
			plan := stuck()
			d := explain(t, w, plan)
			if diff := cmp.Diff(test.want, types(d)); diff != "" {
				t.Error(diff)
			}
			if d.Runs != w.runs || d.Runs == 0 || d.Omitted != "" {
				t.Errorf("%d runs told, %d made; %q", d.Runs, w.runs, d.Omitted)
			}
			if raised(w.objects) || unavailable(w.objects) {
				t.Error("the world's own objects were changed")
			}
		})
	}
}

func TestRemediesHaveTheirCost(t *testing.T) {
	plan := stuck()
	d := explain(t, &world{objects: objects(), good: raised}, plan)
	want := []v1alpha1.Remedy{{
		Types: []v1alpha1.ConstraintType{v1alpha1.ConstraintQuota}, Changes: []string{`raise quota "team" to pods=13`},
		DurationSeconds: 9, PeakPods: 13, LeastAvailable: 12,
	}}
	if diff := cmp.Diff(want, d.Remedies); diff != "" {
		t.Error(diff)
	}
	if got := plan.Status.Workloads[0].Reasons[0].Remedy; got != want[0].Changes[0] {
		t.Errorf("the reason's remedy is %q", got)
	}
}

func TestHowMuchIsPlayedAgainIsBounded(t *testing.T) {
	never := func([]diagnosis.Object) bool { return false }
	w := &world{objects: objects(), good: never, size: 300_000}
	if d := explain(t, w, stuck()); w.runs != 2 || d.Omitted == "" {
		t.Errorf("%d runs of 300,000 events, %q", w.runs, d.Omitted)
	}
	large := stuck()
	large.Events = append(large.Events, make([]trace.Event, 50_000)...)
	for i := range large.Events[len(large.Events)-50_000:] {
		large.Events[len(large.Events)-50_000+i] = trace.Event{Seq: trace.Seq(1_000_000 + i), Offset: time.Hour, Detail: trace.Ended{}}
	}
	w = &world{objects: objects(), good: never}
	if d := explain(t, w, large); w.runs != 0 || d.Omitted == "" || d.Remedies == nil {
		t.Errorf("%d runs of a large world, %+v", w.runs, d)
	}
	if err := diagnosis.Explain(context.Background(), diagnosis.Case{Plan: stuck(), Whole: true, Objects: objects(),
		Replay: (&world{good: never, err: errors.New("no")}).replay}); err == nil {
		t.Error("a run that fails is no error")
	}
}

func TestOnlyWhatIsWorthIt(t *testing.T) {
	for _, test := range []struct {
		verdict v1alpha1.Verdict
		wait    float64
		want    bool
	}{
		{v1alpha1.Stuck, 0, true}, {v1alpha1.DeadlineExceeded, 0, true}, {v1alpha1.Complete, 59, false}, {v1alpha1.Complete, 60, true},
		{v1alpha1.Paused, 900, false}, {v1alpha1.NothingToDo, 900, false},
	} {
		if got := diagnosis.Worthy(&v1alpha1.WorkloadStatus{Verdict: test.verdict, LongestWaitForProgressSeconds: test.wait}); got != test.want {
			t.Errorf("%s that waits %gs: %v", test.verdict, test.wait, got)
		}
	}
}
