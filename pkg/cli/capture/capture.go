// Package capture is the command that saves what a plan would read from a cluster.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

const long = `Save what plan would read from the cluster as a dump for --state.

The dump holds the Deployment or ReplicaSet, its ReplicaSets and pods, the
nodes and what else runs on them, the namespace, quotas, limit ranges,
autoscalers, disruption budgets, priority classes, and where its pods have them,
volumes with their claims and classes. Secrets and ConfigMaps are not read.

Values of environment variables and HTTP headers, commands, arguments and
annotations are replaced by marks, so that a dump can go into a bug report;
names, labels and images stay. --no-redact keeps all.`

const example = `  # Save the state of a rollout, and plan from it elsewhere
  kubectl rollout-sim capture deploy/web -o dump.yaml
  kubectl rollout-sim plan --state dump.yaml deploy/web --image app=nginx:1.27`

// Options are what is saved, and where.
type Options struct {
	genericiooptions.IOStreams

	Cluster   *live.Cluster
	Namespace string
	Targets   []predict.Target
	File      string // empty or - for standard output
	NoRedact  bool
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(f genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{IOStreams: streams}
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "capture (TYPE/NAME | TYPE NAME) [-o FILE]", Short: "Save what a plan reads from a cluster", Long: long, Example: example}
	cmd := command.New(text, func(_ *cobra.Command, args []string) error { return o.complete(f, args) },
		func(ctx context.Context) error { return runF(ctx, o) })
	cmd.Flags().StringVarP(&o.File, "output", "o", "", "The `FILE` to write, as JSON when it ends in .json (default: standard output)")
	cmd.Flags().BoolVar(&o.NoRedact, "no-redact", false, "Keep environment values, commands, arguments and annotations")
	cmd.ValidArgsFunction = predict.Completion{Getter: f}.Args
	return cmd
}

func (o *Options) complete(f genericclioptions.RESTClientGetter, args []string) error {
	var err error
	if o.Targets, err = predict.ParseTargets(args); err != nil {
		return err
	}
	if len(o.Targets) == 0 {
		return errors.New("nothing to capture: pass TYPE/NAME, as in deploy/web")
	}
	if err := command.NeedCluster(f, "read"); err != nil {
		return err
	}
	if o.Namespace, _, err = f.ToRawKubeConfigLoader().Namespace(); err != nil {
		return err
	}
	o.Cluster, err = live.Connect(f)
	return err
}

// Run reads and writes.
func Run(ctx context.Context, o *Options) error {
	query := live.Query{Namespace: o.Namespace, Evictions: true}
	for _, t := range o.Targets {
		query.Workloads = append(query.Workloads, trace.Ref{Kind: t.Kind, Namespace: o.Namespace, Name: t.Name})
	}
	snapshot, err := o.Cluster.Read(ctx, query)
	if err != nil {
		return err
	}
	for _, warning := range snapshot.Warnings() {
		fmt.Fprintf(o.ErrOut, "warning: %s\n", manifest.Printable(warning))
	}
	format := live.DumpOptions{Keep: o.NoRedact, JSON: filepath.Ext(o.File) == ".json"}
	if o.File == "" || o.File == "-" {
		return snapshot.Dump(o.Out, format)
	}
	return command.Save(o.File, func(w io.Writer) error { return snapshot.Dump(w, format) })
}
