package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpColumns is the width that all help fits, that of the narrowest terminal people use.
const HelpColumns = 80

// What a flag is called takes so many columns; longer ones have a line of their own.
const flagColumns = 28

// groupOf is the annotation of a flag with the title it is listed under.
const groupOf = "rollout-sim.dev/group"

// Group adds flags that the help lists together, under a title.
func Group(flags *pflag.FlagSet, title string, add func(*pflag.FlagSet)) {
	these := pflag.NewFlagSet(title, pflag.ContinueOnError)
	these.SortFlags = false
	add(these)
	these.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations == nil {
			flag.Annotations = map[string][]string{}
		}
		flag.Annotations[groupOf] = []string{title}
	})
	flags.SortFlags = false
	flags.AddFlagSet(these)
}

// FlagGroup is some flags of a command, in the order in which they were added.
type FlagGroup struct {
	Title string // of the group, or Flags
	Flags []*pflag.Flag
}

// FlagGroups are a command's own flags; hidden and inherited ones are left out,
// and --help, which every command has.
// Groups come in the order of their first flags, those of no group last.
func FlagGroups(cmd *cobra.Command) []FlagGroup {
	var groups []FlagGroup
	var rest FlagGroup
	own := cmd.LocalFlags()
	own.SortFlags = false
	own.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		title, ok := flag.Annotations[groupOf]
		if !ok {
			rest.Flags = append(rest.Flags, flag)
			return
		}
		for i := range groups {
			if groups[i].Title == title[0] {
				groups[i].Flags = append(groups[i].Flags, flag)
				return
			}
		}
		groups = append(groups, FlagGroup{title[0], []*pflag.Flag{flag}})
	})
	rest.Title = "Flags"
	if len(groups) > 0 {
		rest.Title = "Other flags"
	}
	if len(rest.Flags) > 0 {
		groups = append(groups, rest)
	}
	return groups
}

// FlagName is how a flag is written, as in -f, --filename FILE.
func FlagName(flag *pflag.Flag) string {
	kind, _ := pflag.UnquoteUsage(flag)
	name := "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand + ", " + name
	}
	switch {
	case flag.NoOptDefVal != "" && kind != "":
		return name + "[=" + kind + "]"
	case kind != "":
		return name + " " + kind
	}
	return name
}

// FlagText is what a flag does, with its default where it has one that says something.
func FlagText(flag *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(flag)
	switch flag.DefValue {
	case "", "0", "0s", "false", "[]":
		return text
	}
	return text + " (default " + round.Replace(flag.DefValue) + ")"
}

// round takes the noughts off a duration.
var round = strings.NewReplacer("h0m0s", "h", "m0s", "m")

// Usage prints how a command is called: examples, subcommands and flags, in HelpColumns.
func Usage(w io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n" + hang("  ", UseLine(cmd), 4))
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				b.WriteString(hang(fmt.Sprintf("  %-13s", sub.Name()), sub.Short, 15))
			}
		}
	}
	for _, group := range FlagGroups(cmd) {
		b.WriteString("\n" + group.Title + ":\n")
		for _, flag := range group.Flags {
			b.WriteString(flagLines(flag))
		}
	}
	switch {
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(&b, "\nUse \"%s COMMAND --help\" for more about a command.\n", cmd.CommandPath())
	case cmd.HasAvailableInheritedFlags():
		fmt.Fprintf(&b, "\nUse \"%s --help\" for the flags of cluster, user and namespace.\n", cmd.Root().CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// UseLine is a command's line of use, under the name users type.
func UseLine(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.CommandPath() + " COMMAND"
	}
	line := cmd.Parent().CommandPath() + " " + cmd.Use
	if cmd.HasAvailableLocalFlags() && !strings.Contains(line, "flags]") {
		line += " [flags]"
	}
	return line
}

func flagLines(flag *pflag.Flag) string {
	name := "  " + FlagName(flag)
	if flag.Shorthand == "" {
		name = "      " + FlagName(flag)
	}
	if len(name) > flagColumns-2 {
		return name + "\n" + hang(strings.Repeat(" ", flagColumns), FlagText(flag), flagColumns)
	}
	return hang(fmt.Sprintf("%-*s", flagColumns, name), FlagText(flag), flagColumns)
}

// hang is a text after what stands before it, its further lines indented.
func hang(before, text string, indent int) string {
	var b strings.Builder
	line, empty := before, true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > HelpColumns {
			b.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", indent), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}
