package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func TestVerdictsHaveAnOrder(t *testing.T) {
	order := []Verdict{NothingToDo, Complete, Paused, LimitReached, Stuck, DeadlineExceeded, "Unheard"}
	for i, a := range order {
		for j, b := range order {
			if got := a.WorseThan(b); got != (i > j) {
				t.Errorf("%s worse than %s: %v", a, b, got)
			}
		}
	}
}

func TestDecodePlan(t *testing.T) {
	const head = `{"apiVersion":"rollout-sim.dev/v1alpha1","kind":"RolloutPlan","spec":{"seed":7}}`
	event := func(seq, offset string) string {
		return `{"seq":` + seq + `,"offsetSeconds":` + offset + `,"object":{"kind":"Pod","name":"a"},"type":"Enqueued"}`
	}
	for name, test := range map[string]struct {
		text   string
		events int
		wrong  string
	}{
		"header only":         {head, 0, ""},
		"lines":               {head + "\n" + event("1", "0") + "\n\n" + event("3", "0.5") + "\n", 2, ""},
		"json":                {strings.TrimSuffix(head, "}") + `,"events":[` + event("1", "0") + "]}", 1, ""},
		"yaml":                {"apiVersion: rollout-sim.dev/v1alpha1\nkind: RolloutPlan\nspec: {seed: 7}\nevents:\n- " + event("1", "0"), 1, ""},
		"another kind":        {"kind: List", 0, "expected rollout-sim.dev/v1alpha1 RolloutPlan, found nothing List"},
		"not an object":       {"[1]", 0, "reading a RolloutPlan"},
		"a broken line":       {head + "\n{", 0, "line 2"},
		"an unknown type":     {head + "\n" + strings.Replace(event("1", "0"), "Enqueued", "Nope", 1), 0, `unknown type "Nope"`},
		"numbers that repeat": {head + "\n" + event("1", "0") + "\n" + event("1", "0"), 0, "event 1 is out of order"},
		"time going back":     {head + "\n" + event("1", "2") + "\n" + event("2", "1"), 0, "event 2 is out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := DecodePlan([]byte(test.text))
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Fatalf("error %v, want %q", err, test.wrong)
				}
				return
			}
			if err != nil || plan.Spec.Seed != 7 || len(plan.Events) != test.events {
				t.Fatalf("%+v, %v", plan, err)
			}
		})
	}
}

func TestCopiesShareNothingThatChanges(t *testing.T) {
	start := metav1.NewMicroTime(time.Unix(5, 6))
	plan := NewRolloutPlan(RolloutPlanSpec{StartTime: &start, World: []string{"a"}, Workloads: []trace.Ref{{Name: "w"}}})
	plan.Status.Workloads = []WorkloadStatus{{Reasons: []Reason{{Type: "x"}}, Changes: []trace.Field{{Path: "p"}}}}
	plan.Events = []trace.Event{{Seq: 1}}
	again := plan.DeepCopyObject().(*RolloutPlan)
	if diff := cmp.Diff(plan, again); diff != "" {
		t.Fatal(diff)
	}
	again.Spec.World[0], again.Spec.Workloads[0].Name, again.Events[0].Seq = "b", "v", 2
	again.Status.Workloads[0].Reasons[0].Type, again.Status.Workloads[0].Changes[0].Path = "y", "q"
	again.Spec.StartTime.Time = time.Unix(9, 9)
	if plan.Spec.World[0] != "a" || plan.Spec.Workloads[0].Name != "w" || plan.Events[0].Seq != 1 ||
		plan.Status.Workloads[0].Reasons[0].Type != "x" || plan.Status.Workloads[0].Changes[0].Path != "p" || !plan.Spec.Started().Equal(time.Unix(5, 6)) {
		t.Error("the copy changed the plan")
	}
}
