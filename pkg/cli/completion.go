package cli

import (
	_ "embed"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const completionLong = `Print a script through which a shell completes commands, flags and their values,
and TYPE/NAME from the cluster, or from the files of --state, --from, -f or -k.

kubectl completes its plugins, this one included, in every shell in which it
completes itself, once it finds what "completion kubectl" prints on the PATH.
The other scripts complete the program by its own name, kubectl-rollout_sim.`

const completionExample = `  # Complete kubectl rollout-sim; ~/bin has to be on the PATH
  kubectl rollout-sim completion kubectl > ~/bin/kubectl_complete-rollout_sim
  chmod +x ~/bin/kubectl_complete-rollout_sim`

// shells are the scripts for the program under its own name, and how each is loaded.
var shells = []struct{ name, example string }{
	{"bash", `  # In this session (needs the package bash-completion), and in all later ones
  source <(kubectl rollout-sim completion bash)
  kubectl rollout-sim completion bash \
    > ~/.local/share/bash-completion/completions/kubectl-rollout_sim`},
	{"zsh", `  # In this session, and in all later ones; a folder of $fpath
  source <(kubectl rollout-sim completion zsh)
  kubectl rollout-sim completion zsh > "${fpath[1]}/_kubectl-rollout_sim"`},
	{"fish", `  # In this session, and in all later ones
  kubectl rollout-sim completion fish | source
  kubectl rollout-sim completion fish \
    > ~/.config/fish/completions/kubectl-rollout_sim.fish`},
	{"powershell", `  # In this session; in the profile for all later ones
  kubectl rollout-sim completion powershell | Out-String | Invoke-Expression`},
}

// addCompletion adds cobra's completion commands, with our words, and kubectl's.
func addCompletion(root *cobra.Command, out io.Writer) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Short, completion.Long, completion.Example = "Print a script for shell completion", completionLong, completionExample
	for _, shell := range shells {
		cmd, _, err := completion.Find([]string{shell.name})
		if err != nil {
			continue
		}
		cmd.Short = "Print the script for " + shell.name
		cmd.Long = fmt.Sprintf("Print the script through which %s completes kubectl-rollout_sim.", shell.name)
		cmd.Example = shell.example
	}
	completion.AddCommand(newKubectlCompletion(out))
}

// kubectl asks an executable of this name for the completions of a plugin. The
// release archives have the file, too.
//
//go:embed kubectl_complete-rollout_sim
var kubectlCompletion string

func newKubectlCompletion(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl",
		Short: "Print the script through which kubectl completes this plugin",
		Long: `Print the script that kubectl looks for on the PATH to complete this plugin, by
the name kubectl_complete-rollout_sim.`,
		Example: completionExample,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(out, kubectlCompletion)
			return err
		},
	}
}
