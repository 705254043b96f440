// Package cli is the command line: it wires flags, files and streams to the
// engine and decides nothing about rollouts.
package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/apply"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/capture"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
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

const long = `Simulate Deployment and ReplicaSet rollouts before they happen, and follow them
when they do.

The Deployment and ReplicaSet controllers' own logic runs as a local engine:
plan says in milliseconds what a change will do over the next minutes, with
the arithmetic of every decision; apply makes it and follows it beside the plan.`

const example = `  # What will this do in my cluster, and how does it go on?
  kubectl rollout-sim plan -f web.yaml
  kubectl rollout-sim plan deploy/web

  # Without a cluster: from one manifest to the next
  kubectl rollout-sim plan --from web.yaml -f web-next.yaml

  # Do it, beside the plan
  kubectl rollout-sim apply deploy/web --image app=nginx:1.27

  # Why is it as it is?
  kubectl rollout-sim explain deploy/web --next`

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
		Example:                    example,
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
	root.SetUsageFunc(func(cmd *cobra.Command) error { return command.Usage(cmd.OutOrStderr(), cmd) })
	flags := genericclioptions.NewConfigFlags(true)
	command.Group(root.PersistentFlags(), "Cluster, user and namespace, as of kubectl", flags.AddFlags)
	// The help is the same on every machine; without the flag it is under the user's own home.
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache"
	root.AddCommand(
		plan.NewCommand(flags, streams, nil), apply.NewCommand(flags, streams, nil), compare.NewCommand(flags, streams, nil),
		merge.NewCommand(streams, nil), replay.NewCommand(streams, nil), explain.NewCommand(flags, streams, nil),
		capture.NewCommand(flags, streams, nil), controllers.NewCommand(flags, streams, nil), version.NewCommand(streams),
	)
	addCompletion(root, streams.Out)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Short, help.Long = "Print the help of a command", "Print the help of a command, as --help does."
		help.Example = "  kubectl rollout-sim help plan"
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
