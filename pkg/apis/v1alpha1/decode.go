package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// DecodePlan reads a saved plan or recording: JSON, YAML, or JSON lines whose
// first is the header; their last may be the result. Another kind or version is an error, and so are events
// that are not in order.
func DecodePlan(data []byte) (*RolloutPlan, error) {
	plan := &RolloutPlan{}
	head, rest, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	lines := json.Unmarshal(head, plan) == nil && len(bytes.TrimSpace(rest)) > 0
	if !lines {
		plan = &RolloutPlan{}
		if err := yaml.Unmarshal(data, plan); err != nil {
			return nil, fmt.Errorf("reading a %s: %w", PlanKind, err)
		}
	}
	if plan.APIVersion != PlanAPIVersion || plan.Kind != PlanKind {
		return nil, fmt.Errorf("expected %s %s, found %s %s", PlanAPIVersion, PlanKind, orNothing(plan.APIVersion), orNothing(plan.Kind))
	}
	if lines {
		if err := plan.readLines(rest); err != nil {
			return nil, err
		}
	}
	return plan, inOrder(plan.Events)
}

// resultLine is how the line begins that follows the events: the plan again, with its status.
var resultLine = []byte(`{"kind":"` + PlanKind + `"`)

func (p *RolloutPlan) readLines(data []byte) error {
	number := 1
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if bytes.HasPrefix(line, resultLine) {
			var last RolloutPlan
			if err := json.Unmarshal(line, &last); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			p.Status = last.Status
			continue
		}
		var e trace.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		p.Events = append(p.Events, e)
	}
	return nil
}

func inOrder(events []trace.Event) error {
	for i := 1; i < len(events); i++ {
		if events[i].Seq <= events[i-1].Seq || events[i].Offset < events[i-1].Offset {
			return fmt.Errorf("event %d is out of order", events[i].Seq)
		}
	}
	return nil
}

func orNothing(word string) string {
	if word == "" {
		return "nothing"
	}
	return word
}
