package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var rewrite = flag.Bool("rewrite", false, "write what the commands of the documents print into the documents")

// root is the checkout, in which the commands of the documents run.
const root = "../.."

func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no documents at %s: %v", pattern, err)
		}
		out = append(out, found...)
	}
	return out
}

// TestDocuments runs every command of the console blocks of the checkout's
// Markdown files and compares what it prints with what the document says it prints.
func TestDocuments(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the documents' commands need sh")
	}
	ran := 0
	for _, file := range documents(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			is, commands := replay(t, string(data))
			ran += commands
			if is == string(data) {
				return
			}
			if !*rewrite {
				t.Fatalf("%s says otherwise than the program (-args -rewrite writes it anew): %s", file, firstDifference(string(data), is))
			}
			if err := os.WriteFile(file, []byte(is), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	if ran == 0 {
		t.Fatal("the documents have no commands")
	}
}

// replay is a document with the output of its commands as it is now, and how
// many commands it has.
func replay(t *testing.T, document string) (string, int) {
	var out strings.Builder
	commands := 0
	for _, l := range linesOf(document) {
		if l.printed {
			continue
		}
		out.WriteString(l.text + "\n")
		if l.command != "" {
			commands++
			out.WriteString(printed(t, l.command))
		}
	}
	return out.String(), commands
}

// docLine is a line of a document.
type docLine struct {
	text string
	// command is whole in the last line of a command: of a console block, from
	// "$ " on, and further where a line ends in a backslash.
	command string
	// printed lines follow a command, up to the next one.
	printed bool
}

func linesOf(document string) []docLine {
	var out []docLine
	block, command := "", "" // the fence that a block began with; a command so far
	for line := range strings.Lines(document) {
		l := docLine{text: strings.TrimRight(line, "\n")}
		first, begins := strings.CutPrefix(l.text, "$ ")
		switch {
		case strings.HasPrefix(l.text, "```") && block == "":
			block = l.text
		case strings.HasPrefix(l.text, "```"):
			block = ""
		case block != "```console":
		case begins || command != "":
			if !begins {
				first = l.text
			}
			command += first
			if strings.HasSuffix(command, "\\") {
				command += "\n"
				break
			}
			l.command, command = command, ""
		default:
			l.printed = true
		}
		out = append(out, l)
	}
	return out
}

// docColumns is how wide the documents are.
const docColumns = 120

// TestWidths holds text and commands to the width of the documents. Tables,
// addresses and what programs print are as wide as they are, and so is what --help says.
func TestWidths(t *testing.T) {
	for _, file := range documents(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range linesOf(string(data)) {
			free := l.printed || strings.HasPrefix(l.text, "|") || strings.Contains(l.text, "://") || filepath.Base(file) == "reference.md"
			if n := utf8.RuneCountInString(l.text); n > docColumns && !free {
				t.Errorf("%s:%d has %d columns: %s", file, i+1, n, l.text)
			}
		}
	}
}

// printed is what a command prints in the checkout, warnings and errors included.
func printed(t *testing.T, command string) string {
	cmd := exec.Command("sh", "-c", `kubectl() { shift; kubectl-rollout_sim "$@"; }; exec 2>&1; `+command)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "KUBECONFIG="+filepath.Join(t.TempDir(), "none"), "KUBERNETES_SERVICE_HOST=")
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimRight(string(out), "\n") + "\n"
}

func firstDifference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return "\n- " + left[i] + "\n+ " + right[i]
		}
	}
	return "one ends before the other"
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestLinks checks that what the documents point to is there.
func TestLinks(t *testing.T) {
	for _, file := range documents(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), found[1])); err != nil {
				t.Errorf("%s points to %s, which is not there", file, found[1])
			}
		}
	}
}
