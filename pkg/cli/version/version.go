// Package version is the command that says what this program is.
package version

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// Version is set by the release build; a build with go install knows its own.
var Version = ""

// Info is what -o json prints.
type Info struct {
	Version    string `json:"version"`
	Kubernetes string `json:"kubernetes"` // the newest release whose controllers it follows
	Oldest     string `json:"oldestKubernetes"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// NewCommand makes the command.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of this program, and the releases of Kubernetes it follows.",
		Example: "  # For people, and for scripts\n  kubectl rollout-sim version\n  kubectl rollout-sim version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := format(current(), output)
			if err == nil {
				_, err = fmt.Fprint(streams.Out, text)
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "The `FORMAT`: json or yaml (default: text)")
	return cmd
}

func current() Info {
	info := Info{Version: Version, Kubernetes: rollout.LatestVersion.String(), Oldest: rollout.OldestVersion.String(),
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok && info.Version == "" {
		info.Version = build.Main.Version
	}
	if info.Version == "" {
		info.Version = "(devel)"
	}
	return info
}

func format(info Info, output string) (string, error) {
	switch output {
	case "":
		return fmt.Sprintf("kubectl rollout-sim %s\ncontrollers of Kubernetes %s to %s\n%s %s\n",
			info.Version, info.Oldest, info.Kubernetes, info.Go, info.Platform), nil
	case "json":
		data, err := json.MarshalIndent(info, "", "    ")
		return string(data) + "\n", err
	case "yaml":
		data, err := yaml.Marshal(info)
		return string(data), err
	}
	return "", fmt.Errorf("--output must be one of [json yaml], not %q", output)
}
