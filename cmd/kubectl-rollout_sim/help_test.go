package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
)

// everyCommand calls f with the root and all commands below it, in the order of the help.
func everyCommand(f func(cmd *cobra.Command)) {
	root := cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard())
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		f(cmd)
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	walk(root)
}

func TestEveryHelpFitsAndHasExamples(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.Root().SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatalf("%s: %v", cmd.CommandPath(), err)
		}
		for i, line := range strings.Split(out.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > command.HelpColumns || strings.Contains(line, "\t") {
				t.Errorf("%s --help, line %d has %d columns: %q", cmd.CommandPath(), i+1, n, line)
			}
		}
		if cmd.Example == "" || cmd.Long == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: no example, no long text, or a short one that ends in a full stop", cmd.CommandPath())
		}
		for _, group := range command.FlagGroups(cmd) {
			for _, flag := range group.Flags {
				if flag.Usage == "" {
					t.Errorf("%s: --%s says nothing", cmd.CommandPath(), flag.Name)
				}
			}
		}
	})
}

// The help is the same whoever asks, wherever.
func TestHelpNamesNoHome(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil || len(home) < 2 {
		t.Skip("there is no home to look for")
	}
	if page := reference(); strings.Contains(page, home) {
		t.Errorf("the help names %s", home)
	}
}

// TestReference compares docs/reference.md with what --help says.
func TestReference(t *testing.T) {
	kept(t, filepath.Join(root, "docs", "reference.md"), reference())
}

// kept compares a file of the checkout with what the program says, or writes it.
func kept(t *testing.T, file, want string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s is otherwise than the program says (-args -rewrite writes it anew): %s", file, firstDifference(string(have), want))
	}
}

const referenceHead = `# Reference

All commands and flags, as ` + "`--help`" + ` has them; [usage.md](usage.md) shows them at work. This page is written by the
tests of ` + "`cmd/kubectl-rollout_sim`" + ` (` + "`make rewrite`" + `).

`

// reference is the help of all commands as one page.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	everyCommand(func(cmd *cobra.Command) {
		if name := strings.TrimPrefix(cmd.CommandPath(), cli.Name+" "); !strings.HasPrefix(name, "help") {
			fmt.Fprintf(&b, "- [%s](#%s): %s\n", name, anchor(cmd.CommandPath()), cmd.Short)
		}
	})
	everyCommand(func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", cmd.CommandPath(), cmd.Short, command.UseLine(cmd))
		if long := strings.TrimSpace(strings.TrimSuffix(cmd.Long, exit.Help)); cmd.HasParent() {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", long)
		} else {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", strings.TrimSpace(cmd.Long))
		}
		fmt.Fprintf(&b, "\n```sh\n%s\n```\n", unindented(cmd.Example))
		for _, group := range command.FlagGroups(cmd) {
			fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n", group.Title)
			for _, flag := range group.Flags {
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(command.FlagName(flag), "|", `\|`), cell.Replace(command.FlagText(flag)))
			}
		}
	})
	return b.String()
}

// cell escapes what Markdown would take for more than text in a table.
var cell = strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`)

func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}
