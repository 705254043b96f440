package view

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// inColour is the view for people with its sequences made visible, as in [36m.
func inColour(t *testing.T, events []trace.Event, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Human(&b, plan(events), Options{Detail: trace.Pods, MaxPodLines: 2, Width: width, Color: Always}); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), "\x1b", "")
}

// Which words are coloured, and how, at the widths people have.
func TestColours(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		golden(t, "colour-rollout-"+strconv.Itoa(width)+".txt", inColour(t, eventscript.Rollout(), width))
		golden(t, "colour-unschedulable-"+strconv.Itoa(width)+".txt", inColour(t, eventscript.Unschedulable(), width))
	}
}

// Colours are of the sixteen that each terminal shows on its own ground, light
// or dark, and never of the ground itself; taking them away changes nothing.
func TestColoursSuitEveryGround(t *testing.T) {
	allowed := map[string]bool{"0": true, "1": true, "31": true, "32": true, "35": true, "36": true, "90": true}
	for _, story := range eventscript.Stories() {
		for _, width := range []int{80, 100, 160} {
			opts := Options{Detail: trace.Pods, Width: width, Color: Always}
			var b bytes.Buffer
			if err := Human(&b, plan(story.Events), opts); err != nil {
				t.Fatal(err)
			}
			for _, part := range strings.Split(b.String(), "\x1b[")[1:] {
				if code, _, _ := strings.Cut(part, "m"); !allowed[code] {
					t.Errorf("%s at %d columns uses the sequence %q", story.Name, width, code)
				}
			}
			if diff := cmp.Diff(human(t, story.Events, Options{Detail: trace.Pods, Width: width}), stripped(b.String())); diff != "" {
				t.Errorf("%s at %d columns differs without its colours:\n%s", story.Name, width, diff)
			}
		}
	}
}
