package view

import (
	"io"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Story is what the human view tells of one workload, for other formats. Its
// texts are those of the view and not escaped: names and messages in them come
// from anywhere.
type Story struct {
	Workload *timeline.Workload
	Status   v1alpha1.WorkloadStatus
	Totals   timeline.Totals
	// Identity is the workload and the limits of its strategy.
	Identity []string
	// Result is the verdict and when it came about.
	Result string
	// Reasons say why it is not Complete, Remedies what would mend that.
	Reasons, Remedies []string
	// Pods, Available and Deadline are the totals in words. They are empty
	// where there was nothing to do.
	Pods, Available, Deadline string
	// Spark is the availability over time, a character for each stretch.
	Spark string
	// Steps are the lines of the table, in time order, folded as they are there.
	Steps []Step
}

// identified is the identity on one line.
func (s Story) identified() string {
	return strings.Join(strings.Fields(strings.Join(s.Identity, " ")), " ")
}

// Step is one line of the table.
type Step struct {
	Seq           trace.Seq // of the event it is about
	At            time.Duration
	Who, Node     string
	What, Because string
	Tone          Tone
	Counts        *timeline.Counts // nil where the line has no numbers
}

// Tone is what a line stands for, for those who give it a colour.
type Tone string

// The tones.
const (
	TonePlain  Tone = "plain"
	ToneMuted  Tone = "muted"
	ToneNew    Tone = "new" // of the new template
	ToneOld    Tone = "old"
	ToneGood   Tone = "good"
	ToneBad    Tone = "bad"
	ToneStrong Tone = "strong"
)

var toneNames = map[tone]Tone{
	plain: TonePlain, muted: ToneMuted, fresh: ToneNew, stale: ToneOld, good: ToneGood, bad: ToneBad, strong: ToneStrong,
}

// Stories tells a run for other formats. Of the options it heeds Detail and MaxPodLines.
func Stories(plan *v1alpha1.RolloutPlan, opts Options) (*timeline.Timeline, []Story) {
	tl, sections := sectionsOf(plan, newPrinter(io.Discard, opts).opts)
	stories := make([]Story, len(sections))
	for i, s := range sections {
		stories[i] = s.story()
	}
	return tl, stories
}

func (s *section) story() Story {
	story := Story{
		Workload: s.workload, Status: s.status, Totals: s.totals,
		Identity: s.identity(), Result: s.verdict(), Reasons: s.reasonTexts(), Remedies: s.remedyTexts(),
	}
	if s.status.Verdict != v1alpha1.NothingToDo {
		story.Pods, story.Available, story.Deadline = s.pods(), s.available()[0], s.deadline()
		story.Spark = s.sparkline()
	}
	for _, r := range s.folded() {
		story.Steps = append(story.Steps, Step{
			Seq: r.event.Seq, At: r.at, Who: r.who, Node: r.node, What: r.what, Because: r.because, Tone: toneNames[r.tone], Counts: r.counts,
		})
	}
	return story
}

// reasonTexts are what the events show and what was found out beyond them.
func (s *section) reasonTexts() []string {
	var texts []string
	for _, r := range s.status.Reasons {
		texts = append(texts, r.Message)
	}
	if d := s.status.Diagnosis; d != nil {
		for _, c := range d.Constraints {
			texts = append(texts, c.Message)
		}
	}
	return texts
}

// remedyTexts are those that a run has shown to help, else those of the reasons.
func (s *section) remedyTexts() []string {
	var texts []string
	if d := s.status.Diagnosis; d != nil && len(d.Remedies) > 0 {
		for _, r := range d.Remedies {
			texts = append(texts, s.remedy(r))
		}
		return texts
	}
	for _, r := range s.status.Reasons {
		if r.Remedy != "" {
			texts = append(texts, r.Remedy)
		}
	}
	return texts
}

// Tell says what an event is and why, by itself and at any depth; what is empty
// for events that have no words.
func Tell(e trace.Event) (what, why string) {
	switch d := e.Detail.(type) {
	case trace.Budgeted:
		return "decide", arithmetic(d.Rule, d.Terms, d.Result)
	case trace.Changed:
		return changeWords(d), d.Verb
	case trace.Scaled: // its cause says why
		what, _, _ = everything.words(e)
		return what, ""
	case trace.Specified:
		return "specify", count(d.Replicas, "replica")
	case trace.Ended:
		return "end", d.Why
	}
	what, why, _ = everything.words(e)
	return what, why
}

// everything words events of every depth and remembers none.
var everything = &Stream{out: &printer{opts: Options{Detail: trace.Syncs}}}

// Clean makes text safe to show on one line: controls and what cannot be seen
// are escaped, as in the human view.
func Clean(text string) string { return clean(text) }

// Clock is a time of the run as the human view writes it: 0.021s.
func Clock(d time.Duration) string { return clock(d) }
