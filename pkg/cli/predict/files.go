package predict

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view/report"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view/spans"
)

// Pictures are what is drawn of a run besides what is printed.
type Pictures struct {
	Chart       bool   // after the human view
	Report      string // a file for the page; empty for none
	TraceOut    string // a file for the spans; empty for none
	TraceFormat string
}

// The words of --trace-format.
const (
	traceChrome = "chrome"
	traceOTLP   = "otlp"
)

// TraceFormats are the words of --trace-format.
var TraceFormats = []string{traceChrome, traceOTLP}

// AddFlags adds their flags.
func (p *Pictures) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&p.Chart, "chart", false, "Draw availability, old and new, and terminating pods over time below the view")
	flags.StringVar(&p.Report, "report", "", "A `FILE` for a page that shows it all: charts, pods, decisions and their causes (HTML, one file, works offline)")
	flags.StringVar(&p.TraceOut, "trace-out", "", "A `FILE` for the run as a trace, to look at in Perfetto or the like")
	flags.StringVar(&p.TraceFormat, "trace-format", traceChrome, "The `FORMAT` of --trace-out: chrome (trace events, for ui.perfetto.dev) or otlp (OpenTelemetry spans as JSON)")
}

// Check refuses words that mean nothing, before anything is simulated.
func (p *Pictures) Check(format string) error {
	switch {
	case p.TraceFormat != "" && p.TraceFormat != traceChrome && p.TraceFormat != traceOTLP:
		return fmt.Errorf("--trace-format must be one of %v, not %q", TraceFormats, p.TraceFormat)
	case p.Report == "-" || p.TraceOut == "-":
		return fmt.Errorf("--report and --trace-out take a file: standard output is for what -o says")
	case p.Report != "" && p.Report == p.TraceOut:
		return fmt.Errorf("--report and --trace-out are the same file %s", p.Report)
	case p.Chart && format != "" && format != "wide":
		return fmt.Errorf("--chart is drawn below the view for people: leave out -o %s", format)
	}
	return nil
}

// Write writes the files that were asked for.
func (p *Pictures) Write(plan *v1alpha1.RolloutPlan) error {
	files := []struct {
		path  string
		write func(io.Writer, *v1alpha1.RolloutPlan) error
	}{{p.Report, report.Write}, {p.TraceOut, spans.Chrome}}
	if p.TraceFormat == traceOTLP {
		files[1].write = spans.OTLP
	}
	for _, f := range files {
		if f.path == "" {
			continue
		}
		if err := command.Save(f.path, func(w io.Writer) error { return f.write(w, plan) }); err != nil {
			return err
		}
	}
	return nil
}

// Draw draws the chart, where it was asked for.
func (p *Pictures) Draw(w io.Writer, plan *v1alpha1.RolloutPlan, options view.Options) error {
	if !p.Chart {
		return nil
	}
	return view.Chart(w, plan, options)
}

// checks are the conditions as the formats for CI systems show them.
func checks(conditions []Condition, status v1alpha1.RolloutPlanStatus) []view.Check {
	var out []view.Check
	for _, w := range status.Workloads {
		for _, c := range conditions {
			met, how := c.met(w)
			out = append(out, view.Check{Name: c.Text, Object: w.Object, Failed: met, Message: how})
		}
	}
	return out
}

// forCI is the format for a CI system; nil for all others.
func forCI(format string, conditions []Condition) Show {
	write := map[string]func(io.Writer, *v1alpha1.RolloutPlan, []view.Check) error{"junit": view.JUnit, "markdown": view.Markdown}[format]
	if write == nil {
		return nil
	}
	return func(w io.Writer, plan *v1alpha1.RolloutPlan) error {
		return write(w, plan, checks(conditions, plan.Status))
	}
}

// Printer is Output's, with the conditions of --fail-on in the formats that show them.
func (o *Options) Printer(out io.Writer) (Show, error) {
	show, err := o.Output.Printer(out)
	if ci := forCI(o.Format, o.FailOn); ci != nil && err == nil {
		show = ci
	}
	return show, err
}
