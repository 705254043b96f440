package view

import (
	"strings"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func TestWrapKeepsEquations(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"room: 10 + 3 surge - 10 pods = 3", 32, "room: 10 + 3 surge - 10 pods = 3"},
		{"room: 10 + 3 surge - 10 pods = 3", 31, "room: 10 + 3 surge|- 10 pods = 3"},
		{"room: 10 + 3 surge - 10 pods = 3", 12, "room: 10 + 3|surge - 10|pods = 3"},
		{"spare: 13 pods - 8 needed - 3 not ready = 2", 40, "spare: 13 pods - 8 needed|- 3 not ready = 2"},
		{"spare: 9 pods - 8 in this set = 5, so 3", 38, "spare: 9 pods|- 8 in this set = 5, so 3"},
		{"share: 10 + 2 left = 12, at most 11 max", 23, "share: 10|+ 2 left = 12, at most|11 max"},
		{"surge 25% = 3 unavailable 25% = 2", 30, "surge 25% = 3 unavailable|25% = 2"},
		{"available = 2", 12, "available =|2"}, // so few columns are never shown
		{"= 3 is no equation", 10, "= 3 is no|equation"},
		{"an equation without a result =", 28, "an equation without a result|="},
	} {
		if got := strings.Join(wrap(test.text, test.width), "|"); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// narrowestReason is how many columns there always are for reasons.
const narrowestReason = 24

// Whatever the width, no line of what people see begins with the result of an
// equation, and nothing but blanks is lost between lines.
func TestNoResultAlone(t *testing.T) {
	for _, story := range eventscript.Stories() {
		plan := plan(story.Events)
		for width := 50; width <= 160; width++ {
			var b strings.Builder
			if err := Human(&b, plan, Options{Detail: trace.Decisions, Width: width, Color: Never}); err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(b.String(), "\n") {
				if strings.HasPrefix(strings.TrimLeft(line, " "), "= ") {
					t.Fatalf("%s in %d columns, line %d: %q", story.Name, width, i+1, line)
				}
			}
		}
	}
	for a := int32(1); a <= 1000; a *= 10 {
		terms := []trace.Term{{Name: "pods", Value: a + 20}, {Name: "needed", Value: -8}, {Name: "notReady", Value: -a}}
		for _, result := range []int32{12, 5, -8} {
			text := arithmetic(trace.Surplus, terms, result)
			for width := narrowestReason; width <= len(text); width++ {
				lines := wrap(text, width)
				if got := strings.Join(lines, " "); got != text {
					t.Errorf("%q in %d columns is %q", text, width, got)
				}
				for _, line := range lines {
					if wide(line) > width || strings.HasPrefix(line, "=") {
						t.Errorf("%q in %d columns has the line %q", text, width, line)
					}
				}
			}
		}
	}
}
