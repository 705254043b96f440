package view

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Comparison writes for people how strategies fared, a line each.
func Comparison(w io.Writer, c *v1alpha1.RolloutComparison, opts Options) error {
	out := newPrinter(w, opts)
	at := c.Spec.Workloads[0]
	out.parts("", 0, "  ", []string{strings.ToLower(at.Kind) + "/" + at.Name, "ns " + at.Namespace, fmt.Sprintf(" %d strategies", len(c.Status.Strategies))})
	out.parts("  world", headerColumn, ";  ", append(append([]string{}, c.Spec.World...), fmt.Sprintf("seed %d", c.Spec.Seed)))
	out.blank()
	strategies(out, c.Status)
	out.blank()
	out.labelled("=", resultColumn, plain, "the Deployment's own")
	out.labelled("*", resultColumn, plain, "no other completes with at least as good a duration, available pods and pods at once, and a better one of them")
	chosen(out, c, at)
	return out.err
}

// strategies is the table.
func strategies(out *printer, status v1alpha1.RolloutComparisonStatus) {
	t := grid{spare: 2, columns: []gridColumn{{title: ""}, {title: "STRATEGY"}, {title: "SURGE", right: true}, {title: "UNAVAIL", right: true}, {title: "MINREADY", right: true},
		{title: verdictTitle}, {title: "DURATION", right: true}, {title: "AVAIL", right: true}, {title: "PODS", right: true}, {title: "CPU", right: true}, {title: "MEMORY", right: true}}}
	for i, r := range status.Strategies {
		mark := ""
		if r.Current {
			mark = "="
		}
		if r.Pareto {
			mark += "*"
		}
		if status.Chosen != nil && *status.Chosen == i {
			mark += ">"
		}
		t.add(toneOf(r.Verdict), mark, r.Strategy.Type, r.Strategy.MaxSurge, r.Strategy.MaxUnavailable, fmt.Sprintf("%ds", r.Strategy.MinReadySeconds),
			string(r.Verdict), brief(r.DurationSeconds), fmt.Sprintf("%d/%d", r.Available.Least, r.Available.Desired), fmt.Sprint(r.Pods.Peak),
			resource.NewMilliQuantity(r.PeakRequests.MilliCPU, resource.DecimalSI).String(), resource.NewQuantity(r.PeakRequests.MemoryBytes, resource.BinarySI).String())
	}
	t.write(out)
}

// chosen says what the goal chose, and how to have it.
func chosen(out *printer, c *v1alpha1.RolloutComparison, at trace.Ref) {
	if c.Spec.Goal == "" {
		return
	}
	if c.Status.Chosen == nil {
		out.labelled("goal", resultColumn, bad, c.Spec.Goal+": no strategy meets it")
		return
	}
	best := c.Status.Strategies[*c.Status.Chosen]
	words := best.Strategy.Type
	if best.Strategy.MaxSurge != "" {
		words += fmt.Sprintf(", surge %s, unavailable %s", best.Strategy.MaxSurge, best.Strategy.MaxUnavailable)
	}
	out.labelled("goal", resultColumn, plain, c.Spec.Goal)
	out.labelled(">", resultColumn, good, fmt.Sprintf("%s, min ready %ds: %s", words, best.Strategy.MinReadySeconds, ended(best.Verdict, best.DurationSeconds)))
	if best.Current {
		out.labelled("patch", resultColumn, plain, "none needed: it is the Deployment's own")
		return
	}
	// On a line of its own, to be copied whole.
	out.line(cell{text: fmt.Sprintf("kubectl patch deployment %s -n %s -p %s", shellWord(at.Name), shellWord(at.Namespace), shellWord(string(c.Status.Patch)))})
}

var harmless = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// shellWord is a text as one word of a shell.
func shellWord(text string) string {
	if harmless.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
