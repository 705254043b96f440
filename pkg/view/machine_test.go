package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
)

func TestMachineViews(t *testing.T) {
	p := plan(eventscript.Unschedulable())
	for name, write := range map[string]func(*bytes.Buffer) error{
		"json":  func(b *bytes.Buffer) error { return JSON(b, p) },
		"yaml":  func(b *bytes.Buffer) error { return YAML(b, p) },
		"jsonl": func(b *bytes.Buffer) error { return JSONL(b, p) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, "unschedulable."+name, b.String())
	}
}

// What is written in any form is read back, and shows the same to people.
func TestEveryFormComesBack(t *testing.T) {
	for _, story := range eventscript.Stories() {
		p := plan(story.Events)
		for name, write := range map[string]func(*bytes.Buffer) error{
			"json":  func(b *bytes.Buffer) error { return JSON(b, p) },
			"yaml":  func(b *bytes.Buffer) error { return YAML(b, p) },
			"jsonl": func(b *bytes.Buffer) error { return JSONL(b, p) },
		} {
			var b, before, after bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && !visible(r) }); i >= 0 && name != "yaml" {
				t.Errorf("%s as %s has something invisible: %q", story.Name, name, b.String()[max(0, i-20):i+5])
			}
			again, err := v1alpha1.DecodePlan(b.Bytes())
			if err != nil {
				t.Fatalf("%s as %s: %v", story.Name, name, err)
			}
			if err := Human(&before, p, Options{Color: Never}); err != nil {
				t.Fatal(err)
			}
			if err := Human(&after, again, Options{Color: Never}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before.String(), after.String()); diff != "" {
				t.Errorf("%s as %s:\n%s", story.Name, name, diff)
			}
			if diff := cmp.Diff(p.Events, again.Events); diff != "" {
				t.Errorf("%s as %s:\n%s", story.Name, name, diff)
			}
		}
	}
}

func TestObjectHasTheNamesOfTheJSON(t *testing.T) {
	object, err := Object(plan(eventscript.Unschedulable()))
	if err != nil {
		t.Fatal(err)
	}
	if object.GetKind() != "RolloutPlan" || object.Object["status"].(map[string]any)["verdict"] != "Stuck" {
		t.Errorf("%v", object.Object["status"])
	}
}
