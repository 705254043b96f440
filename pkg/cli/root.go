// Package cli is the command line: it wires flags, files and streams to the
// engine and decides nothing about rollouts.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/apply"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/capture"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/compare"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/controllers"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/explain"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/merge"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/plan"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/replay"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/version"
)

// Name is how users call the program.
const Name = "kubectl rollout-sim"

const long = `Simulate Deployment and ReplicaSet rollouts before they happen, and follow them when they do.

The Deployment and ReplicaSet controllers' own logic runs as a local engine:
plan says in milliseconds what a change will do over the next minutes, with
the arithmetic of every decision; apply makes it and follows it beside the plan.`

// Main runs the program and is its exit code.
func Main(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	root := NewCommand(streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	exit.Print(streams.ErrOut, err)
	return int(exit.CodeOf(err))
}

// NewCommand makes the root command.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:                        "kubectl-rollout_sim",
		Short:                      "Simulate Deployment and ReplicaSet rollouts",
		Long:                       long + "\n\n" + exit.Help,
		Annotations:                map[string]string{cobra.CommandDisplayNameAnnotation: Name},
		SilenceErrors:              true,
		SilenceUsage:               true,
		RunE:                       func(cmd *cobra.Command, args []string) error { return cmd.Help() },
		Args:                       noArguments,
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (see '%s --help')", err, cmd.CommandPath())
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	flags := genericclioptions.NewConfigFlags(true)
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(
		plan.NewCommand(flags, streams, nil), apply.NewCommand(flags, streams, nil), compare.NewCommand(flags, streams, nil), merge.NewCommand(streams, nil), replay.NewCommand(streams, nil), explain.NewCommand(flags, streams, nil),
		capture.NewCommand(flags, streams, nil), controllers.NewCommand(flags, streams, nil), version.NewCommand(streams),
	)
	root.InitDefaultCompletionCmd()
	root.CompletionOptions.HiddenDefaultCmd = false
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.AddCommand(newKubectlCompletion(streams.Out))
	}
	return root
}

// noArguments is kubectl's answer to a word that is no command.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		message += fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
	}
	return fmt.Errorf("%s", message)
}

// kubectl asks an executable of this name for the completions of a plugin.
const kubectlCompletion = `#!/usr/bin/env sh
# Put this on the PATH as kubectl_complete-rollout_sim and make it executable.
exec kubectl rollout-sim __complete "$@"
`

func newKubectlCompletion(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:     "kubectl",
		Short:   "Print the script through which kubectl completes this plugin",
		Long:    "Print the script that kubectl looks for on the PATH, under the name kubectl_complete-rollout_sim, to complete this plugin.",
		Example: "  kubectl rollout-sim completion kubectl > ~/bin/kubectl_complete-rollout_sim && chmod +x ~/bin/kubectl_complete-rollout_sim",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(out, kubectlCompletion)
			return err
		},
	}
}
