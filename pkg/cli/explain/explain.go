// Package explain is the command that says why a Deployment, ReplicaSet or pod
// is as it is, and what the controllers do next.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

const long = `Say why a Deployment, ReplicaSet or pod is as it is, and what comes next.

It tells what happened last and what the controllers wait for, what one pass of
them would do now, why a pod was made, is pending, is not ready, was deleted or
will be evicted, and which pods go first when fewer are wanted, by which rule.
Nothing is written: the controllers' own logic runs on what was read.

What it is read from:
  (nothing)          the cluster of the kubeconfig
  --state DUMP       kubectl get deploy,rs,pods,nodes,events -o yaml, as saved
  --recording FILE   a plan or recording, whose events hold the true causes;
                     --at asks about a moment before its end

What a cluster does not keep is concluded from conditions, Events, owners,
managed fields and times, and is then marked as inferred. A pod that is gone or
could not be made is explained as far as these tell.`

const example = `  # Why is this pod not there, not ready, or on its way out?
  kubectl rollout-sim explain pod/web-7bf58d54fb-jls5r

  # What does the rollout wait for, and what are its next steps?
  kubectl rollout-sim explain deploy/web --next

  # From what was saved, and from a recorded rollout 30 seconds after its start
  kubectl rollout-sim explain pod/web-7bf58d54fb-jls5r --state dump.yaml
  kubectl rollout-sim explain deploy/web --recording web.jsonl --at 30s`

// Options are what is explained, and from what.
type Options struct {
	genericiooptions.IOStreams
	predict.Output

	Kind, Name        string
	Namespace         string
	ExplicitNamespace bool

	Cluster   *live.Cluster // nil when it is not read
	State     []string
	Recursive bool
	Recording string
	At        time.Duration // of the recording; its end when it was not given
	Next      bool
	Now       time.Time // zero: the cluster's, or the newest in the dump
	Version   rollout.Version

	getter                genericclioptions.RESTClientGetter
	stdin                 []byte // what --state - was
	now, version          string
	atGiven, versionGiven bool
}

// NewCommand makes the command. A test may pass its own run.
func NewCommand(f genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, runF func(context.Context, *Options) error) *cobra.Command {
	o := &Options{IOStreams: streams, getter: f}
	if runF == nil {
		runF = Run
	}
	text := command.Text{Use: "explain (TYPE/NAME | TYPE NAME) [--state DUMP | --recording FILE]", Short: "Say why a Deployment, ReplicaSet or pod is as it is", Long: long, Example: example}
	cmd := command.New(text, func(cmd *cobra.Command, args []string) error {
		o.atGiven, o.versionGiven = cmd.Flags().Changed("at"), cmd.Flags().Changed("kubernetes-version")
		if err := o.complete(args); err != nil {
			return err
		}
		return o.validate()
	}, func(ctx context.Context) error { return runF(ctx, o) })
	command.Group(cmd.Flags(), "Input", o.addInputFlags)
	o.AddSummaryFlags(cmd.Flags())
	command.Words(cmd, map[string][]string{"output": predict.SummaryFormats, "color": command.Colors})
	cmd.ValidArgsFunction = predict.Completion{Getter: f, Pods: true, One: true}.Args
	return cmd
}

func (o *Options) addInputFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.State, "state", nil, "What a cluster holds: a `DUMP` of capture or lists of kubectl get -o yaml|json; a file, a directory or -")
	flags.BoolVarP(&o.Recursive, "recursive", "R", false, "Read the directories of --state to the bottom")
	flags.StringVar(&o.Recording, "recording", "", "A `FILE` with a plan or recording to explain from, as replay reads it; - is standard input")
	flags.DurationVar(&o.At, "at", 0, "The `TIME` of the recording to explain, counted from its start (default: its end)")
	flags.BoolVar(&o.Next, "next", false, "List the next steps with their times: simulated from here, or with --at those of the recording")
	flags.StringVar(&o.now, "now", "", "The `TIME` to explain (default: the cluster's, or the newest in the dump)")
	flags.StringVar(&o.version, "kubernetes-version", rollout.LatestVersion.String(), "The `RELEASE` whose controllers to follow; a cluster says its own")
}

func (o *Options) complete(args []string) error {
	var err error
	if o.Kind, o.Name, err = parseTarget(args); err != nil {
		return err
	}
	if o.Version, err = rollout.ParseVersion(o.version); err != nil {
		return fmt.Errorf("--kubernetes-version: %w", err)
	}
	if o.now != "" {
		if o.Now, err = time.Parse(time.RFC3339, o.now); err != nil {
			return fmt.Errorf("--now %q: expected a time such as 2026-01-31T12:00:00Z", o.now)
		}
	}
	if slices.Contains(o.State, "-") { // it may be read twice
		if o.stdin, err = io.ReadAll(io.LimitReader(o.In, manifest.MaxFile+1)); err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
	}
	if len(o.State) == 0 && o.Recording == "" {
		if err := command.NeedCluster(o.getter, "read"); err != nil {
			return fmt.Errorf("%w, or pass --state DUMP or --recording FILE", err)
		}
		if o.Cluster, err = live.Connect(o.getter); err != nil {
			return err
		}
	}
	o.Namespace = "default"
	if ns, explicit, err := o.getter.ToRawKubeConfigLoader().Namespace(); err == nil && (explicit || o.Cluster != nil) {
		o.Namespace, o.ExplicitNamespace = ns, explicit
	}
	return nil
}

// parseTarget reads TYPE/NAME or TYPE NAME, of which there is one. Besides what
// rolls out it may be a pod.
func parseTarget(args []string) (kind, name string, err error) {
	if len(args) == 0 {
		return "", "", errors.New("nothing to explain: pass TYPE/NAME, as in deploy/web, rs/NAME or pod/NAME")
	}
	word, name, slash := strings.Cut(args[0], "/")
	if !slash && len(args) == 2 {
		name, args = args[1], args[:1]
	}
	switch strings.ToLower(word) {
	case "pod", "pods", "po":
		if len(args) > 1 || name == "" || strings.Contains(name, "/") {
			return "", "", fmt.Errorf("%q is not one pod/NAME", strings.Join(args, " "))
		}
		return "Pod", name, nil
	}
	if slash {
		name = args[0]
	} else {
		name = word + "/" + name
	}
	targets, err := predict.ParseTargets([]string{name})
	if err != nil {
		return "", "", err
	}
	if len(args) > 1 {
		return "", "", errors.New("one object is explained at a time: pass one TYPE/NAME")
	}
	return targets[0].Kind, targets[0].Name, nil
}

func (o *Options) validate() error {
	switch {
	case len(o.State) > 0 && o.Recording != "":
		return errors.New("only one of --state or --recording can be specified")
	case o.atGiven && o.Recording == "":
		return errors.New("--at is a moment of a recording: pass --recording FILE")
	case o.atGiven && o.At < 0:
		return fmt.Errorf("--at %s: must not be negative", o.At)
	case o.Recording != "" && o.Next && !o.atGiven:
		return errors.New("--next of a recording is what followed a moment of it: say with --at which")
	case o.Recording != "" && o.now != "":
		return errors.New("--now is the time of a dump or cluster; the moment of a recording is --at")
	}
	return nil
}

// Run explains.
func Run(ctx context.Context, o *Options) error {
	show, err := o.printer()
	if err != nil {
		return err
	}
	var e *v1alpha1.Explanation
	var warnings []string
	if o.Recording != "" {
		e, err = o.fromRecording()
	} else {
		e, warnings, err = o.fromSnapshot(ctx)
	}
	if err != nil {
		return err
	}
	predict.Warn(o.ErrOut, warnings)
	return show(o.Out, e)
}

func (o *Options) printer() (func(io.Writer, *v1alpha1.Explanation) error, error) {
	o.Detail = command.Details[1] // there is no other
	options, err := o.ViewOptions(o.Out)
	if err != nil {
		return nil, err
	}
	return predict.Other(o.Format, func(w io.Writer, e *v1alpha1.Explanation) error { return view.Explanation(w, e, options) })
}
