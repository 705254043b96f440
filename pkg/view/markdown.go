package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// maxMarkdownSteps is how many steps of a workload are listed: a comment on a
// pull request may have 65,536 characters.
const maxMarkdownSteps = 120

// Markdown writes a summary fit for a comment on a pull request, in GitHub's
// Markdown: the verdict and what would mend it first, the decisions folded away.
// Texts of the cluster are shown as code, in which no markup works.
func Markdown(w io.Writer, plan *v1alpha1.RolloutPlan, checks []Check) error {
	_, stories := Stories(plan, Options{Detail: trace.Decisions})
	var b strings.Builder
	for _, s := range stories {
		s.markdown(&b)
	}
	if len(checks) > 0 {
		b.WriteString("| condition | met |\n|---|---|\n")
		for _, c := range checks {
			fmt.Fprintf(&b, "| %s | %s |\n", code(c.Name+" "+named(c.Object)), c.markdown())
		}
		b.WriteString("\n")
	}
	b.WriteString(markdownWorld(plan.Spec) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Story) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "### %s %s: %s\n\n", sign(s.Status.Verdict), code(named(s.Workload.Object)), s.Result)
	for _, r := range s.Reasons {
		fmt.Fprintf(b, "- why: %s\n", code(r))
	}
	for _, r := range s.Remedies {
		fmt.Fprintf(b, "- would mend it: %s\n", code(r))
	}
	if len(s.Reasons)+len(s.Remedies) > 0 {
		b.WriteString("\n")
	}
	s.markdownFacts(b)
	s.markdownSteps(b)
}

// sign is a verdict at a glance; the word stands beside it.
func sign(v v1alpha1.Verdict) string {
	switch v {
	case v1alpha1.Complete, v1alpha1.NothingToDo:
		return "✅"
	case v1alpha1.Paused, v1alpha1.LimitReached:
		return "⚠️"
	}
	return "❌"
}

func (s Story) markdownFacts(b *strings.Builder) {
	b.WriteString("| | |\n|---|---|\n")
	fmt.Fprintf(b, "| workload | %s |\n", code(s.identified()))
	fields := s.Workload.Fields()
	for _, f := range fields[:min(len(fields), maxChanges)] {
		label, path := placeOf(f)
		fmt.Fprintf(b, "| %s | %s %s → %s |\n", label, code(path), code(orNone(f.From)), code(orNone(f.To)))
	}
	if more := len(fields) - maxChanges; more > 0 {
		fmt.Fprintf(b, "| | and %d more |\n", more)
	}
	for _, fact := range []struct{ label, text string }{
		{"pods", s.Pods}, {"available", s.Available}, {"over time", s.Spark}, {"deadline", s.Deadline},
	} {
		if fact.text != "" {
			fmt.Fprintf(b, "| %s | %s |\n", fact.label, fact.text)
		}
	}
	b.WriteString("\n")
}

func (s Story) markdownSteps(b *strings.Builder) {
	if len(s.Steps) == 0 {
		return
	}
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n| time | old | new | available | who | what | because |\n|--:|--:|--:|--:|---|---|---|\n",
		count(int32(len(s.Steps)), "step"))
	for _, step := range s.Steps[:min(len(s.Steps), maxMarkdownSteps)] {
		numbers := "| | "
		if c := step.Counts; c != nil {
			numbers = fmt.Sprintf("%d | %d | %d/%d", c.Old, c.New, c.Available, c.Needed)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", clock(step.At), numbers, code(step.Who), code(step.What), code(step.Because))
	}
	if more := len(s.Steps) - maxMarkdownSteps; more > 0 {
		fmt.Fprintf(b, "\nand %s more\n", count(int32(more), "step"))
	}
	b.WriteString("\n</details>\n\n")
}

func markdownWorld(spec v1alpha1.RolloutPlanSpec) string {
	facts := append([]string{}, spec.World...)
	if spec.KubernetesVersion != "" {
		facts = append(facts, "Kubernetes "+spec.KubernetesVersion)
	}
	if spec.Predicted == nil {
		facts = append(facts, fmt.Sprintf("seed %d", spec.Seed))
	}
	return "<sub>kubectl rollout-sim: " + code(strings.Join(facts, "; ")) + "</sub>"
}

func (c Check) markdown() string {
	if c.Failed {
		return "❌ yes: " + code(c.Message)
	}
	return "✅ no: " + code(c.Message)
}

// code is text that Markdown shows as it is. What a code span or a table's cell
// would stumble over becomes HTML whose every sign is spelled out.
func code(text string) string {
	text = clean(text)
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case !strings.ContainsAny(text, "`|\\") && strings.TrimSpace(text) == text:
		return "`" + text + "`"
	}
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range text {
		if strings.ContainsRune(" -/,", r) || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 0x7f {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String() + "</code>"
}
