// Package predict reads what a plan begins with, puts a world together from it
// and simulates the change. Commands that show a prediction are built on it.
package predict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// Options are what a plan is made of.
type Options struct {
	genericiooptions.IOStreams

	Input
	World
	Events
	Output

	// Cluster is where the world is read from; nil when it is not a live one.
	Cluster *live.Cluster

	Change            change.Set
	FailOn            []Condition
	DetailedExitCode  bool
	Targets           []Target
	Selector          labels.Selector
	Namespace         string // as given with -n, or of the context, or default
	ExplicitNamespace bool

	// Diagnose finds out what holds rollouts that do not complete.
	Diagnose bool
	// Keep keeps what a prediction was made from, so that it can be continued.
	Keep bool

	getter genericclioptions.RESTClientGetter // of the cluster

	going []trace.Ref // what is followed, where the world already goes on
	stdin []byte      // what -f - was
	meter *meter      // what adds requests up; nil for nothing
	raw   rawFlags
}

// Input is what is read.
type Input struct {
	Files     []string // -f: the change, or what is to be created
	Kustomize string   // -k: the same
	From      []string // --from: what there is before the change, finished
	State     []string // --state: dumps of a cluster
	Recursive bool
	Offline   bool
	Apply     kubectl.ApplyOptions // how a cluster is to apply the manifest
}

// World is what is assumed.
type World struct {
	Version    rollout.Version
	Seed       uint64
	Timing     sim.Timing
	TimingName string
	Now        time.Time // zero: the dump's newest time, or a fixed date
	Limit      time.Duration
	Nodes      Nodes
	ReadyAfter *kubelet.Range // nil: by the pod's probes
	ExitAfter  *kubelet.Range // nil: by the pod's preStop hooks
	Never      kubelet.Never
}

// Output is how the result is shown.
type Output struct {
	Format      string
	Detail      string
	Color       string
	MaxPodLines int
	Width       int // columns; 0 is the terminal's
	Pictures    Pictures
}

// rawFlags are flags whose values need reading.
type rawFlags struct {
	images                           []string
	undo, patch, patchFile           string
	patchType                        string
	replicas                         int32
	readyAfter, exitAfter, never     string
	nodes, timing, version, now      string
	failOn, selector                 string
	all                              bool
	replicasSet, patchSet, undoGiven bool
	versionSet, limitSet             bool
}

// Prepare reads flags and arguments and refuses what cannot be asked.
func (o *Options) Prepare(cmd *cobra.Command, f genericclioptions.RESTClientGetter, args []string) error {
	flags := cmd.Flags()
	o.raw.undoGiven, o.raw.replicasSet = flags.Changed("undo"), flags.Changed("replicas")
	o.raw.patchSet, o.raw.versionSet = flags.Changed("patch"), flags.Changed("kubernetes-version")
	o.raw.limitSet = flags.Changed("limit")
	if err := o.Complete(f, args); err != nil {
		return err
	}
	return o.Validate()
}

// Complete reads the flags' values.
func (o *Options) Complete(f genericclioptions.RESTClientGetter, args []string) error {
	var err error
	if o.Targets, err = ParseTargets(args); err != nil {
		return err
	}
	switch {
	case o.raw.all && (o.raw.selector != "" || len(args) > 0):
		return errors.New("--all is every workload: it cannot be used together with -l or TYPE/NAME")
	case o.raw.all:
		o.Selector = labels.Everything()
	case o.raw.selector != "":
		if o.Selector, err = labels.Parse(o.raw.selector); err != nil {
			return fmt.Errorf("-l %q: %w", o.raw.selector, err)
		}
	}
	if slices.Contains(o.Files, "-") {
		if o.stdin, err = io.ReadAll(io.LimitReader(o.In, manifest.MaxFile+1)); err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
		o.In = bytes.NewReader(o.stdin)
	}
	if err := o.connect(f); err != nil {
		return err
	}
	for _, read := range []func() error{o.completeChange, o.completeTimes, o.completeWorld, o.completeEvents} {
		if err := read(); err != nil {
			return err
		}
	}
	// Where no cluster is read, neither a missing kubeconfig nor the namespace of
	// its context matters: equal input gives equal output on every machine.
	o.Namespace = "default"
	if ns, explicit, err := f.ToRawKubeConfigLoader().Namespace(); err == nil && (explicit || o.Cluster != nil) {
		o.Namespace, o.ExplicitNamespace = ns, explicit
	}
	o.FailOn, err = ParseFailOn(o.raw.failOn)
	return err
}

// connect makes the clients of the cluster that the user has, unless the input
// says what there is before the change.
func (o *Options) connect(f genericclioptions.RESTClientGetter) error {
	if o.Offline || len(o.State) > 0 || len(o.From) > 0 {
		return nil
	}
	configured, err := live.Configured(f)
	if err == nil && configured {
		o.getter = f
		o.Cluster, err = live.Connect(f)
	}
	return err
}

func (o *Options) completeChange() error {
	for _, s := range o.raw.images {
		image, err := change.ParseImage(s)
		if err != nil {
			return err
		}
		o.Change.Images = append(o.Change.Images, image)
	}
	if o.raw.replicasSet {
		o.Change.Replicas = &o.raw.replicas
	}
	if o.raw.undoGiven {
		revision, err := strconv.ParseInt(o.raw.undo, 10, 64)
		if err != nil {
			return fmt.Errorf("--undo=%s: a revision is a number", o.raw.undo)
		}
		o.Change.Undo = &revision
	}
	if err := o.completePatch(); err != nil {
		return err
	}
	return o.Change.Validate()
}

func (o *Options) completePatch() error {
	var err error
	if o.Change.PatchType, err = change.ParsePatchType(o.raw.patchType); err != nil {
		return err
	}
	switch {
	case o.raw.patchSet && o.raw.patchFile != "":
		return errors.New("cannot specify --patch and --patch-file together")
	case o.raw.patchFile != "":
		if o.Change.Patch, err = os.ReadFile(o.raw.patchFile); err != nil {
			return fmt.Errorf("unable to read patch file: %w", err)
		}
	case o.raw.patchSet:
		o.Change.Patch = []byte(o.raw.patch)
	default:
		return nil
	}
	if len(strings.TrimSpace(string(o.Change.Patch))) == 0 {
		return errors.New("the patch is empty")
	}
	return nil
}

func (o *Options) completeTimes() error {
	var err error
	if o.ReadyAfter, err = optionalRange("--ready-after", o.raw.readyAfter); err != nil {
		return err
	}
	if o.ExitAfter, err = optionalRange("--exit-after", o.raw.exitAfter); err != nil {
		return err
	}
	if o.raw.never != "" {
		if o.Never, err = scenario.ParseNever(o.raw.never); err != nil {
			return fmt.Errorf("--never-ready %w", err)
		}
	}
	if o.raw.now != "" {
		if o.Now, err = time.Parse(time.RFC3339, o.raw.now); err != nil {
			return fmt.Errorf("--now %q: expected a time such as 2026-01-31T12:00:00Z", o.raw.now)
		}
	}
	if o.Limit <= 0 {
		return fmt.Errorf("--limit %s: must be greater than 0", o.Limit)
	}
	return nil
}

// optionalRange is nil for a flag that was not given.
func optionalRange(flag, s string) (*kubelet.Range, error) {
	if s == "" {
		return nil, nil
	}
	r, err := scenario.ParseRange(s)
	if err != nil {
		return nil, fmt.Errorf("%s %w", flag, err)
	}
	return &r, nil
}

func (o *Options) completeWorld() error {
	var err error
	if o.Nodes, err = ParseNodes(o.raw.nodes); err != nil {
		return err
	}
	if o.Version, err = rollout.ParseVersion(o.raw.version); err != nil {
		return fmt.Errorf("--kubernetes-version: %w", err)
	}
	switch o.TimingName = o.raw.timing; o.TimingName {
	case "cluster":
		o.Timing = sim.ClusterTiming()
	case "instant":
		o.Timing = sim.InstantTiming()
	default:
		return fmt.Errorf("--timing must be one of [cluster instant], not %q", o.raw.timing)
	}
	return nil
}

// Validate refuses flags that exclude each other and inputs that say nothing.
func (o *Options) Validate() error {
	hasFile, hasBefore := len(o.Files) > 0 || o.Kustomize != "", len(o.From) > 0 || len(o.State) > 0
	if err := o.validateCluster(hasFile); err != nil {
		return err
	}
	switch {
	case o.Cluster != nil && !hasFile:
		// TYPE/NAME or -l say enough: see validateCluster.
	case !hasFile && !hasBefore:
		return errors.New("no manifest: pass -f FILE, or --state DUMP with TYPE/NAME")
	case len(o.Files) > 0 && o.Kustomize != "":
		return errors.New("only one of -f or -k can be specified")
	case len(o.From) > 0 && len(o.State) > 0:
		return errors.New("only one of --from or --state can be specified: both say what there is before the change")
	case hasFile && hasBefore && !o.Change.Empty():
		return errors.New("the change is either -f/-k or change flags such as --image, not both")
	case len(o.From) > 0 && !hasFile && o.Change.Empty() && !o.happens():
		return errors.New("--from says what there is: say with -f, or with flags such as --image or --at, what changes")
	case o.Offline && len(o.State) > 0:
		return errors.New("only one of --offline or --state can be specified")
	case len(o.Targets) > 0 && o.Selector != nil:
		return errors.New("a selector (-l) cannot be used together with TYPE/NAME")
	}
	if o.Cluster != nil && len(o.Targets) > 0 && o.Selector != nil {
		return errors.New("a selector (-l) cannot be used together with TYPE/NAME")
	}
	if stdins := count(o.Files, "-") + count(o.From, "-") + count(o.State, "-") + count(o.Scenarios, "-"); stdins > 1 {
		return errors.New("standard input can be read only once: - is given several times")
	}
	return nil
}

// validateCluster refuses what a live cluster cannot be asked, and flags that
// only it understands.
func (o *Options) validateCluster(hasFile bool) error {
	switch {
	case o.Cluster == nil && (o.Apply.ServerSide || o.Apply.FieldManager != "" || o.Apply.ForceConflicts):
		return errors.New("--server-side, --field-manager and --force-conflicts are for a cluster to act on: there is none")
	case o.Apply.ForceConflicts && !o.Apply.ServerSide:
		return errors.New("--force-conflicts only works with --server-side")
	case o.Cluster == nil:
		return nil
	case !hasFile && len(o.Targets) == 0 && o.Selector == nil:
		return errors.New("nothing to plan: pass -f FILE, or TYPE/NAME with or without a change such as --image")
	case hasFile && !o.Change.Empty():
		return errors.New("the change is either -f/-k or change flags such as --image on TYPE/NAME, not both; with --offline, the file is what there is before the change")
	}
	return nil
}

func count(list []string, s string) (n int) {
	for _, have := range list {
		if have == s {
			n++
		}
	}
	return n
}
