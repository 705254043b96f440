// Package command is what all commands are set up with.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Text is what a command's help says. Long is followed by the exit codes.
type Text struct{ Use, Short, Long, Example string }

// New makes a command of its text, of what reads its flags and arguments, and
// of what it does with them.
func New(t Text, complete func(cmd *cobra.Command, args []string) error, run func(context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: t.Use, Short: t.Short, Long: t.Long + "\n\n" + exit.Help, Example: t.Example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := complete(cmd, args); err != nil {
				return err
			}
			return run(cmd.Context())
		},
	}
}

// Words lets the shell complete flags that take one of a few words.
func Words(cmd *cobra.Command, words map[string][]string) {
	for flag, list := range words {
		// The error would only say that the flag does not exist.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
	}
}

// Details are the words of --detail, Colors those of --color.
var (
	Details = []string{"decisions", "pods", "syncs"}
	Colors  = []string{"auto", "always", "never"}
)

var depths = map[string]trace.Depth{"decisions": trace.Decisions, "pods": trace.Pods, "syncs": trace.Syncs}

// ParseDetail reads a word of --detail.
func ParseDetail(s string) (trace.Depth, error) {
	depth, ok := depths[s]
	if !ok {
		return 0, fmt.Errorf("--detail must be one of %v, not %q", Details, s)
	}
	return depth, nil
}

// NeedCluster is an error when the user has no cluster to do something to.
// That of a kubeconfig that cannot be read is its own.
func NeedCluster(f genericclioptions.RESTClientGetter, do string) error {
	there, err := live.Configured(f)
	switch {
	case err != nil:
		return err
	case !there:
		return errors.New("there is no cluster to " + do + ": set a kubeconfig context")
	}
	return nil
}

// Save writes a file that only its owner may read: what tells of a cluster may
// be secret. Errors name the file.
func Save(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return file.Close()
}

// Quiet keeps what client-go logs of its ordinary work off standard error.
func Quiet() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "ERROR"} {
		_ = flags.Set(name, value) // klog has these flags
	}
	klog.SetOutput(io.Discard)
}
