package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// until is a run as it was known at a moment.
func until(events []trace.Event, at time.Duration) *timeline.Timeline {
	var known []trace.Event
	for _, e := range events {
		if e.Offset <= at {
			known = append(known, e)
		}
	}
	return timeline.Build(known, timeline.Options{})
}

// lanesOf are lanes without colour.
func lanesOf(events []trace.Event, at Place) []string {
	l := NewLive(&bytes.Buffer{}, v1alpha1.RolloutPlanSpec{}, Options{Color: Never})
	return l.Lanes(until(events, at.Now), at)
}

// Few pods have a line each, many a line for each ReplicaSet, at each width.
func TestLanes(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		var b strings.Builder
		for _, at := range []Place{
			{Width: width, Height: 20, Now: 60 * time.Millisecond},
			{Width: width, Height: 20, Now: 2300 * time.Millisecond},
			{Width: width, Height: 6, Now: 2300 * time.Millisecond},
			{Width: width, Height: 20, Now: 4600 * time.Millisecond},
		} {
			fmt.Fprintf(&b, "after %s, %d lines\n", at.Now, at.Height)
			for _, line := range lanesOf(eventscript.Rollout(), at) {
				b.WriteString(line + "\n")
			}
			b.WriteString("\n")
		}
		golden(t, fmt.Sprintf("lanes-%d.txt", width), b.String())
	}
}

// What troubles a pod stands in place of its state; what no terminal has room
// for is counted; nothing wraps and nothing acts on a terminal.
func TestLanesOfTrouble(t *testing.T) {
	for _, story := range eventscript.Stories() {
		for _, width := range []int{20, 50, 80, 160} {
			for _, height := range []int{2, 5, 40} {
				lines := lanesOf(story.Events, Place{Width: width, Height: height, Now: time.Minute})
				if len(lines) > height {
					t.Errorf("%s: %d lines, want at most %d", story.Name, len(lines), height)
				}
				for _, line := range lines {
					if wide(line) >= max(width, 21) || !isClean(line) {
						t.Errorf("%s at %d columns: %q", story.Name, width, line)
					}
				}
			}
		}
	}
	lines := strings.Join(lanesOf(eventscript.Unschedulable(), Place{Width: 100, Height: 9, Now: time.Second}), "\n")
	if !strings.Contains(lines, "no node") {
		t.Errorf("no word of the pod that no node takes:\n%s", lines)
	}
}

// The foot of a terminal is taken away line by line before what comes next, and
// nothing is written where nothing is new.
func TestFoot(t *testing.T) {
	var b bytes.Buffer
	l := NewLive(&b, v1alpha1.RolloutPlanSpec{}, Options{Color: Never})
	if err := l.Foot([]string{"too early"}, 80); err != nil || b.Len() > 0 {
		t.Errorf("a foot before the head: %q, %v", b.String(), err)
	}
	events := eventscript.Rollout()
	if err := l.Update(events[:20]); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	for _, lines := range [][]string{{"a", "b", "c"}, {"a", "b", "c"}, {"d"}, {strings.Repeat("e", 30), "f"}} {
		if err := l.Foot(lines, 80); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("e", 30)
	if err := l.Foot([]string{"narrow"}, 10); err != nil { // the first line has become three
		t.Fatal(err)
	}
	if err := l.Note("note", "a word"); err != nil {
		t.Fatal(err)
	}
	want := "a\nb\nc" + "\r\x1b[2A\x1b[J" + "d" + "\r\x1b[J" + long + "\nf" + "\r\x1b[3A\x1b[J" + "narrow" + "\r\x1b[J" + "note       a word\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
