package view

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var rewrite = flag.Bool("rewrite", false, "write what is seen as what is wanted")

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s:\n%s", path, diff)
	}
}

func plan(events []trace.Event) *v1alpha1.RolloutPlan {
	return timeline.NewPlan(v1alpha1.RolloutPlanSpec{
		Seed: 1, KubernetesVersion: "v1.37", Source: v1alpha1.SourceCluster,
		World: []string{`live cluster "prod", 12 nodes`, "ready after 2.1s (p95 2.6s, measured on 10 pods)"},
	}, events)
}

func human(t *testing.T, events []trace.Event, opts Options) string {
	t.Helper()
	var b bytes.Buffer
	opts.Color = Never
	if err := Human(&b, plan(events), opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStories(t *testing.T) {
	for _, story := range eventscript.Stories() {
		t.Run(story.Name, func(t *testing.T) {
			golden(t, story.Name+".txt", human(t, story.Events, DefaultOptions()))
		})
	}
}

func TestDetails(t *testing.T) {
	for name, depth := range map[string]trace.Depth{"decisions": trace.Decisions, "syncs": trace.Syncs} {
		golden(t, "rollout-"+name+".txt", human(t, eventscript.Rollout(), Options{Detail: depth, Width: 160}))
		golden(t, "quota-"+name+".txt", human(t, eventscript.Quota(), Options{Detail: depth, Width: 160}))
	}
}

func TestWidths(t *testing.T) {
	for name, opts := range map[string]Options{
		"50": {Width: 50}, "80": {Width: 80}, "160": {Width: 160}, "wide": {Width: 160, Wide: true},
	} {
		opts.Detail, opts.MaxPodLines = trace.Pods, 2
		golden(t, "rollout-"+name+".txt", human(t, eventscript.Rollout(), opts))
		golden(t, "unschedulable-"+name+".txt", human(t, eventscript.Unschedulable(), opts))
	}
}

func TestTwoWorkloads(t *testing.T) {
	log := trace.NewLog()
	for _, name := range []string{"api", "web"} {
		s := eventscript.New(name, eventscript.Rolling(2, 1, 0))
		s.Log = log
		s.World(name+"-1", 2)
		if name == "web" {
			s.You("scale", func(d *trace.Specified) { d.Replicas, d.Needed = 3, 3 }, trace.Field{Path: "spec.replicas", From: "2", To: "3"})
			s.At(10).Scale("web-1", 3, trace.Desired, trace.Term{Name: "desired", Value: 3}).Create("web-1", 1)
			s.At(20).End("Limit")
		}
	}
	golden(t, "two.txt", human(t, log.Events(), DefaultOptions()))
}

// Whatever is shown, at whatever width: lines fit, end in no space, and hold
// nothing that a terminal would act on.
func TestEveryLineFitsAndIsClean(t *testing.T) {
	for _, story := range eventscript.Stories() {
		for _, width := range []int{50, 80, 100, 160} {
			for _, depth := range []trace.Depth{trace.Decisions, trace.Pods, trace.Syncs} {
				for i, line := range strings.Split(human(t, story.Events, Options{Detail: depth, Width: width}), "\n") {
					if wide(line) > width || strings.TrimRight(line, " ") != line {
						t.Fatalf("%s at %d columns, line %d: %q", story.Name, width, i+1, line)
					}
					if strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
						t.Fatalf("%s, line %d has controls: %q", story.Name, i+1, line)
					}
				}
			}
		}
	}
}

func TestColourIsNeverTheOnlySign(t *testing.T) {
	var b bytes.Buffer
	if err := Human(&b, plan(eventscript.Unschedulable()), Options{Detail: trace.Pods, Color: Always}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[31m") {
		t.Error("nothing is red in a stuck rollout")
	}
	plainText := stripped(b.String())
	if diff := cmp.Diff(human(t, eventscript.Unschedulable(), DefaultOptions()), plainText); diff != "" {
		t.Errorf("without its colours the text differs:\n%s", diff)
	}
}

func stripped(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"web-1 ünïcode 日本":       "web-1 ünïcode 日本",
		"\x1b[31mred":            `\x1b[31mred`,
		"a\nb\r\tc":              `a\nb\r\tc`,
		"\u202eevil\u2069":       `\u202eevil\u2069`,
		"zero\u200bwidth":        `zero\u200bwidth`,
		"\ufeffbom\u00ad":        `\ufeffbom\u00ad`,
		"c1\u009bm":              `c1\u009bm`,
		"bad\xffutf8":            `bad\xffutf8`,
		"\ufffd":                 "\ufffd",
		"tag\U000e0041":          `tag\U000e0041`,
		"fill\u3164\ufe0f\u034f": `fill\u3164\ufe0f\u034f`,
	} {
		if got := clean(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestArithmetic(t *testing.T) {
	term := func(name string, value int32) trace.Term { return trace.Term{Name: name, Value: value} }
	for _, test := range []struct {
		rule   trace.Rule
		terms  []trace.Term
		result int32
		want   string
	}{
		{trace.Room, []trace.Term{term("desired", 10), term("surge", 3), term("pods", -10)}, 3, "room: 10 + 3 surge - 10 pods = 3"},
		{trace.Room, []trace.Term{term("desired", 10), term("surge", 3), term("pods", -8), term("desiredLeft", 2)}, 2, "room: 10 + 3 surge - 8 pods = 5, at most 2 desired left"},
		{trace.Room, []trace.Term{term("desired", 10), term("surge", 0), term("pods", -12)}, 0, "room: 10 + 0 surge - 12 pods = -2, so 0"},
		{trace.Surplus, []trace.Term{term("pods", 13), term("needed", -8), term("notReady", -3)}, 2, "spare: 13 pods - 8 needed - 3 not ready = 2"},
		{trace.Unhealthy, []trace.Term{term("size", 5), term("available", -1), term("left", 2)}, 2, "not available: 5 in this set - 1 available = 4, at most 2 left"},
		{trace.Wanted, []trace.Term{term("there", 0), term("wanted", -3)}, -3, "3 wanted, 0 there"},
		{trace.Desired, []trace.Term{term("desired", 4)}, 4, "follows replicas: 4"},
		{trace.Proportion, []trace.Term{term("size", 8), term("max", 18), term("base", 13)}, 3, "share: 8 size x 18 max / 13 base, so +3"},
		{trace.Proportion, []trace.Term{term("size", 8), term("max", 18), term("base", 13), term("left", 2), term("leftover", 1)}, 3, "share: 8 size x 18 max / 13 base, at most 2 left, and 1 left over, so +3"},
		{trace.Proportion, []trace.Term{term("size", 8)}, -8, "share: 8 size, so -8"},
		{trace.Recreate, nil, 0, "Recreate, old pods go first"},
		{"Moon", []trace.Term{term("phase", 1), term("tide", 2)}, 3, "Moon: 1 phase + 2 tide = 3"},
	} {
		if got := arithmetic(test.rule, test.terms, test.result); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestRanked(t *testing.T) {
	for _, test := range []struct {
		rank trace.Rank
		want string
	}{
		{trace.Rank{Rule: "ReadyAge", Mine: "33", Other: "42", Stays: "b"}, "least settled: ready for 8.6s+, b for 1.2h+"},
		{trace.Rank{Rule: "NodeCrowded", Mine: "3", Other: "1", Stays: "b"}, "crowded node: 3 pods of this owner, 1 beside b"},
		{trace.Rank{Rule: "Phase", Mine: "Pending", Other: "Running", Stays: "b"}, "Pending goes before Running"},
		{trace.Rank{Rule: "Age", Mine: "-1", Other: "none", Stays: "b"}, "younger: there for 0s, b for none"},
		{trace.Rank{Rule: "All"}, "all go"},
		{trace.Rank{Rule: "Odd"}, "Odd"},
	} {
		if got := ranked(test.rank); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("one two "+strings.Repeat("x", 25)+" three", 10)
	want := []string{"one two", strings.Repeat("x", 10), strings.Repeat("x", 10), "xxxxx", "three"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
