package view

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func shown(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func chart(t *testing.T, events []trace.Event, opts Options) string {
	return shown(t, func(w io.Writer) error { return Chart(w, plan(events), opts) })
}

func TestChart(t *testing.T) {
	golden(t, "chart-80.txt", chart(t, eventscript.Rollout(), Options{Width: 80, Color: Never}))
	golden(t, "chart-160.txt", chart(t, eventscript.Rollout(), Options{Width: 160, Color: Never}))
	golden(t, "chart-deadline.txt", chart(t, eventscript.Deadline(), Options{Color: Never}))
	golden(t, "chart-nothing.txt", chart(t, eventscript.Nothing(), Options{Color: Never}))
}

// A chart fits, is clean, and says without colour what it says with it.
func TestChartsFit(t *testing.T) {
	for _, story := range eventscript.Stories() {
		for _, width := range []int{30, 50, 80, 100, 160} {
			text := chart(t, story.Events, Options{Width: width, Color: Never})
			for _, line := range strings.Split(text, "\n") {
				if wide(line) > max(width, 44) || strings.TrimRight(line, " ") != line || strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
					t.Fatalf("%s at %d columns: %q", story.Name, width, line)
				}
			}
			colored := stripped(chart(t, story.Events, Options{Width: width, Color: Always}))
			if diff := cmp.Diff(text, trimmed(colored)); diff != "" {
				t.Fatalf("%s at %d columns: colour changes the text:\n%s", story.Name, width, diff)
			}
		}
	}
}

func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// The lowest moment of availability is drawn however short it is.
func TestChartKeepsDips(t *testing.T) {
	s := eventscript.New("web", eventscript.Rolling(4, 1, 1)).World("web-1", 4)
	s.At(1000).Delete("web-1", 3, nil)
	s.At(1001).Remove("web-1", 3).Create("web-1", 3)
	s.At(1002).Ready("web-1", 4) // the one that stayed is ready already
	s.At(900000).Scale("web-1", 5, trace.Desired).Create("web-1", 1)
	section := sectionOf(t, s.At(900001).End("Limit"))
	samples := section.sampled(series{of: func(c timeline.Counts) int32 { return c.Available }, least: true}, 60)
	if got := min(samples[0], samples[1], samples[2]); got != 1 {
		t.Errorf("three of four pods were gone for a millisecond; the chart's low is %g", got)
	}
	if samples[0] != 4 || samples[59] != 4 {
		t.Errorf("the chart begins at %g and ends at %g, want 4 and 4", samples[0], samples[59])
	}
}

func sectionOf(t *testing.T, events []trace.Event) *section {
	t.Helper()
	_, sections := sectionsOf(plan(events), DefaultOptions())
	if len(sections) != 1 {
		t.Fatalf("%d workloads", len(sections))
	}
	return sections[0]
}

func TestMarkdown(t *testing.T) {
	for _, name := range []string{"rollout", "unschedulable", "nothing", "hostile"} {
		golden(t, name+".md", shown(t, func(w io.Writer) error { return Markdown(w, plan(story(t, name)), checksOf(plan(story(t, name)))) }))
	}
}

func TestJUnit(t *testing.T) {
	for _, name := range []string{"rollout", "deadline", "paused", "hostile"} {
		text := shown(t, func(w io.Writer) error { return JUnit(w, plan(story(t, name)), checksOf(plan(story(t, name)))) })
		golden(t, name+".junit.xml", text)
		var back junitSuites
		if err := xml.Unmarshal([]byte(text), &back); err != nil {
			t.Fatal(err)
		}
		failures := 0
		for _, suite := range back.Suites {
			for _, c := range suite.Cases {
				if c.Failure != nil {
					failures++
				}
			}
		}
		if failures != back.Failures {
			t.Errorf("%s: says %d failures, has %d", name, back.Failures, failures)
		}
	}
}

// checksOf are one condition that is met and one that is not.
func checksOf(p *v1alpha1.RolloutPlan) []Check {
	ref := p.Status.Workloads[0].Object
	return []Check{{Name: "minAvailable<90%", Object: ref, Failed: true, Message: "8 of 10 available"}, {Name: "duration>1h", Object: ref, Message: "4.6s"}}
}

func story(t *testing.T, name string) []trace.Event {
	t.Helper()
	for _, s := range eventscript.Stories() {
		if s.Name == name {
			return s.Events
		}
	}
	t.Fatalf("no story %s", name)
	return nil
}

// Whatever text it is, code shows it and nothing of it is markup.
func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"nginx:1.26":                 "`nginx:1.26`",
		"@team <b>see</b> [x](y) #1": "`@team <b>see</b> [x](y) #1`",
		"a`b":                        "<code>a&#96;b</code>",
		`a\|b`:                       "<code>a&#92;&#124;b</code>",
		"</code><img src=x>|":        "<code>&#60;/code&#62;&#60;img src&#61;x&#62;&#124;</code>",
		"a\nb\x1b[31m":               "<code>a&#92;nb&#92;x1b&#91;31m</code>",
		" padded":                    "<code> padded</code>",
		"":                           "",
	} {
		got := code(text)
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		inside := strings.TrimSuffix(strings.TrimPrefix(got, "<code>"), "</code>")
		if strings.HasPrefix(got, "<code>") && regexp.MustCompile("[<>|`\\\\]").MatchString(inside) {
			t.Errorf("%q: markup is left in %s", text, got)
		}
	}
}

// Every event that a chain of causes may pass has words.
func TestTell(t *testing.T) {
	silent := map[string]bool{"Found": true, "SyncEnded": true, "StatusChanged": false}
	for _, s := range eventscript.Stories() {
		for _, e := range s.Events {
			if what, _ := Tell(e); what == "" && !silent[e.Detail.Type()] && e.Actor != trace.ActorWorld {
				t.Errorf("%s: nothing is told of %s", s.Name, e.Detail.Type())
			}
		}
	}
}

// A pipe, a file and a CI log get neither colours nor cursor movements, and
// NO_COLOR takes them away wherever the choice is left to us.
func TestNoColourOffATerminal(t *testing.T) {
	for _, noColor := range []string{"", "1"} {
		t.Setenv("NO_COLOR", noColor)
		for _, write := range []func(io.Writer, *v1alpha1.RolloutPlan, Options) error{Human, Chart, Replay} {
			text := shown(t, func(w io.Writer) error {
				return write(w, plan(eventscript.Unschedulable()), Options{Detail: trace.Pods, Color: Auto})
			})
			if strings.ContainsAny(text, "\x1b\r") || text == "" {
				t.Errorf("with NO_COLOR=%q: %.200q", noColor, text)
			}
		}
	}
}
