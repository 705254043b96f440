package sim_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// web is a configuration of the Deployment web with some lines in its spec and
// its container.
func web(t *testing.T, spec, container string) map[string]any {
	t.Helper()
	text := `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  ` + spec + `
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: web:v1
        ` + container
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func owned(t *testing.T) (*sim.World, *sim.Hands) {
	w := sim.New(sim.Config{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Timing: sim.InstantTiming(), Ownership: true})
	return w, w.Hands(trace.ActorYou)
}

// apply applies server-side; want is a part of the error, empty for none.
func apply(t *testing.T, h *sim.Hands, config map[string]any, opts sim.ApplyOptions, want string) *appsv1.Deployment {
	t.Helper()
	obj, err := h.ServerSideApply(config, opts)
	switch {
	case want == "" && err != nil:
		t.Fatal(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Fatalf("error %v, want %q", err, want)
	case want != "":
		return nil
	}
	return obj.(*appsv1.Deployment)
}

var ci, ops = sim.ApplyOptions{FieldManager: "ci"}, sim.ApplyOptions{FieldManager: "ops"}

// A field goes when its last owner lets go of it, and a list's item by its key.
func TestApplyRemovesWhatNobodyOwns(t *testing.T) {
	_, h := owned(t)
	apply(t, h, web(t, "minReadySeconds: 5", "env: [{name: A, value: a}, {name: B, value: b}]"), ci, "")
	apply(t, h, web(t, "minReadySeconds: 5", "env: [{name: C, value: c}]"), ops, "")
	d := apply(t, h, web(t, "", "env: [{name: A, value: a}]"), ci, "")
	if got := names(d); got != "A C" || d.Spec.MinReadySeconds != 5 {
		t.Errorf("environment %q, minReadySeconds %d: B was ci's alone, and the seconds are still ops'", got, d.Spec.MinReadySeconds)
	}
	d = apply(t, h, web(t, "", ""), ops, "")
	if got := names(d); got != "A" || d.Spec.MinReadySeconds != 0 {
		t.Errorf("environment %q, minReadySeconds %d", got, d.Spec.MinReadySeconds)
	}
}

func names(d *appsv1.Deployment) string {
	var out []string
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

// An apply that changes nothing is not stored, however much later it comes.
func TestApplyWithoutChangeKeepsTheVersion(t *testing.T) {
	w, h := owned(t)
	before := apply(t, h, web(t, "", ""), ci, "")
	if err := w.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	after := apply(t, h, web(t, "", ""), ci, "")
	if before.ResourceVersion != after.ResourceVersion || !after.ManagedFields[0].Time.Equal(before.ManagedFields[0].Time) {
		t.Errorf("version %s became %s, fields of %v", before.ResourceVersion, after.ResourceVersion, after.ManagedFields[0].Time)
	}
}

func TestApplyConflicts(t *testing.T) {
	_, h := owned(t)
	apply(t, h, web(t, "minReadySeconds: 5\n  replicas: 2", ""), ci, "")
	_, err := h.ServerSideApply(web(t, "minReadySeconds: 6\n  replicas: 3", ""), ops)
	want := "Apply failed with 2 conflicts: conflicts with \"ci\":\n- .spec.minReadySeconds\n- .spec.replicas"
	if !apierrors.IsConflict(err) || err.Error() != want {
		t.Fatalf("got %v\nwant %s", err, want)
	}
	d := apply(t, h, web(t, "minReadySeconds: 6\n  replicas: 3", ""), sim.ApplyOptions{FieldManager: "ops", Force: true}, "")
	for _, e := range d.ManagedFields {
		if has := strings.Contains(fields(t, e.FieldsV1), "f:replicas"); has != (e.Manager == "ops") {
			t.Errorf("%s owns replicas: %v", e.Manager, has)
		}
	}
	apply(t, h, web(t, "minReadySeconds: 6\n  replicas: 3", ""), ci, "") // equal values are shared
}

func fields(t *testing.T, v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What was made otherwise belongs to the program that wrote it.
func TestApplyOverAnObjectMadeOtherwise(t *testing.T) {
	_, h := owned(t)
	d := &appsv1.Deployment{}
	text, err := json.Marshal(web(t, "replicas: 2", ""))
	if err != nil || json.Unmarshal(text, d) != nil {
		t.Fatal(err)
	}
	d.Namespace = "default"
	if _, err := h.Create(d); err != nil {
		t.Fatal(err)
	}
	apply(t, h, web(t, "replicas: 3", ""), ci, `Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas`)
}

func TestApplyRefuses(t *testing.T) {
	_, h := owned(t)
	apply(t, h, web(t, "minReadySecond: 5", ""), ci, ".spec.minReadySecond: field not declared in schema")
	apply(t, h, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}, ci, "name must be provided")
	apply(t, h, map[string]any{"apiVersion": "v1", "kind": "Secret"}, ci, "the simulated server has no v1 Secret")
	plain := sim.New(sim.Config{Timing: sim.InstantTiming()})
	if _, err := plain.Hands(trace.ActorYou).ServerSideApply(web(t, "", ""), ci); err == nil {
		t.Error("a world that keeps no owners applied server-side")
	}
}
