package predict

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// shellPatience is how long the shell may wait for a cluster's names.
const shellPatience = 3 * time.Second

// Completion lets the shell complete TYPE/NAME and TYPE NAME, with the names of
// the input files where there are any and of the cluster otherwise. What cannot
// be read has no names: the shell has no place for an error.
type Completion struct {
	Getter genericclioptions.RESTClientGetter
	Pods   bool // may be named, too
	One    bool // is all that may be named
}

// Args is a cobra.Command's ValidArgsFunction.
func (c Completion) Args(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	word, name, prefix := "", typed, ""
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		word, args = args[0], args[1:]
	} else if before, after, slash := strings.Cut(typed, "/"); slash {
		word, name, prefix = before, after, before+"/"
	} else if len(args) == 0 || !c.One {
		return c.types(typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	kind, ok := c.kind(word)
	if !ok || c.One && len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := c.names(cmd, kind)
	slices.Sort(names)
	var out []cobra.Completion
	for _, found := range slices.Compact(names) {
		// Others are none of an API server's, and a shell might take them for more than a name.
		valid := len(validation.IsDNS1123Subdomain(found)) == 0
		if valid && strings.HasPrefix(found, name) && !slices.Contains(args, prefix+found) {
			out = append(out, prefix+found)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// types are the ones that begin with what was typed; a whole one stays as it was typed.
func (c Completion) types(typed string) []cobra.Completion {
	if _, ok := c.kind(typed); ok {
		return []cobra.Completion{typed + "/"}
	}
	all := []cobra.Completion{"deployment/", "replicaset/"}
	if c.Pods {
		all = append(all, "pod/")
	}
	return slices.DeleteFunc(all, func(s cobra.Completion) bool { return !strings.HasPrefix(s, typed) })
}

func (c Completion) kind(word string) (string, bool) {
	if c.Pods && slices.Contains([]string{"pod", "pods", "po"}, strings.ToLower(word)) {
		return "Pod", true
	}
	kind, err := parseKind(word)
	return kind, err == nil
}

// names are those of a kind that the command will find.
func (c Completion) names(cmd *cobra.Command, kind string) []string {
	flags := cmd.Flags()
	// A plan says itself what it changes; a recording is read whole, which takes too long here.
	if flags.Changed("recording") || flags.Changed("plan") {
		return nil
	}
	if set, given := readFlags(cmd); given {
		return c.within(set, kind)
	}
	if offline, _ := flags.GetBool("offline"); offline {
		return nil
	}
	return c.inCluster(cmd.Context(), kind)
}

// readFlags reads the files of a command's flags, and says whether there are
// any. A file that cannot be read, or is the shell's own input, holds nothing.
func readFlags(cmd *cobra.Command) (*manifest.Set, bool) {
	set, given := &manifest.Set{}, false
	recursive, _ := cmd.Flags().GetBool("recursive")
	reader := manifest.Reader{Recursive: recursive, Mode: manifest.Lenient, Each: sideBySide}
	for _, flag := range []string{"state", "from", "filename"} {
		paths, _ := cmd.Flags().GetStringSlice(flag) // a command may be without
		for _, path := range paths {
			given = true
			if path == "-" {
				continue
			}
			if part, err := reader.Read(path); err == nil {
				set.Append(part)
			}
		}
	}
	if dir, _ := cmd.Flags().GetString("kustomize"); dir != "" {
		given = true
		if part, err := manifest.Kustomize(dir); err == nil {
			set.Append(part)
		}
	}
	return set, given
}

func (c Completion) within(set *manifest.Set, kind string) []string {
	namespace, explicit, err := c.Getter.ToRawKubeConfigLoader().Namespace()
	if err != nil || !explicit {
		namespace = ""
	}
	var names []string
	for _, obj := range set.Objects() {
		in := obj.GetNamespace()
		if ref(obj).Kind == kind && (namespace == "" || in == "" || in == namespace) {
			names = append(names, obj.GetName())
		}
	}
	return names
}

func (c Completion) inCluster(ctx context.Context, kind string) []string {
	if there, err := live.Configured(c.Getter); err != nil || !there {
		return nil
	}
	namespace, _, err := c.Getter.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil
	}
	cluster, err := live.Connect(c.Getter)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shellPatience)
	defer cancel()
	names, err := cluster.Names(ctx, kind, namespace)
	if err != nil {
		return nil
	}
	return names
}
