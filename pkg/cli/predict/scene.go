package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// epoch is time zero where the input has no times of its own, so that equal
// input gives equal output on every day.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// scene is what a run begins with.
type scene struct {
	loaded    []manifest.Item // there as they are
	settled   []manifest.Item // applied before time zero and finished since
	applied   []manifest.Item // the change
	targets   []trace.Ref     // what flags change
	workloads []trace.Ref     // what is followed: the targets, or the Deployments they belong to
	story     v1alpha1.ScenarioSpec
	source    v1alpha1.PlanSource
	start     time.Time
	until     time.Duration // the run goes on so long in any case
	limit     time.Duration // and so far at most
	facts     []string      // what is assumed, for people
	warnings  []string
	released  bool // what was loaded is let go of: it cannot be played again

	// Of a live cluster:
	snapshot *live.Snapshot
	context  string
	others   map[trace.Ref]bool            // pods that only take room
	answers  map[trace.Ref]manifest.Object // what the server makes of the change
	refused  error                         // the server's, where the user may not make it
	measured map[trace.Ref]live.Times      // by workload
	failing  map[string]kubelet.Never      // why the pods of a ReplicaSet (namespace/name) do not become ready
}

// newScene reads the input and sorts it by when it comes into the world. A
// snapshot of the cluster is taken unless there is one.
func newScene(ctx context.Context, o *Options, taken *live.Snapshot) (*scene, error) {
	s := &scene{source: v1alpha1.SourceOffline, start: epoch, snapshot: taken}
	change, before, there, err := s.readFiles(o)
	if err != nil {
		return nil, err
	}
	if o.Cluster != nil {
		if err := s.read(ctx, o, change); err != nil {
			return nil, err
		}
		before, there = s.enter(o)
	}
	s.stage(o, change, before, there)
	if o.Cluster == nil {
		s.warnings = append(s.warnings, missing(objects(s.loaded))...)
	}
	if err := s.choose(o); err != nil {
		return nil, err
	}
	if err := s.schedule(o); err != nil {
		return nil, err
	}
	if err := s.checkSize(o); err != nil {
		return nil, err
	}
	s.setTime(o)
	if o.Cluster != nil {
		if err := s.ask(ctx, o); err != nil {
			return nil, err
		}
	}
	s.look()
	s.addNodes(o)
	s.describe(o)
	return s, nil
}

// readFiles reads what changes, what was applied before and what is there.
func (s *scene) readFiles(o *Options) (change, before, there []manifest.Item, err error) {
	wanted, err := o.readWanted()
	if err != nil {
		return nil, nil, nil, err
	}
	from, err := o.readBefore(o.From, manifest.Strict)
	if err != nil {
		return nil, nil, nil, err
	}
	state, err := o.readBefore(o.State, manifest.Lenient)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, set := range []*manifest.Set{state, from, wanted} {
		if ignored := set.Ignored(); ignored != "" {
			s.warnings = append(s.warnings, "ignored: "+ignored)
		}
	}
	for _, set := range []*manifest.Set{from, wanted} {
		if err := checkScenarios(set.Items); err != nil {
			return nil, nil, nil, err
		}
	}
	if len(o.Scenarios) > 0 {
		if err := s.readScenarios(o); err != nil {
			return nil, nil, nil, err
		}
	}
	return s.told(wanted.Items), s.told(from.Items), s.told(state.Items), nil
}

func (o *Options) readWanted() (*manifest.Set, error) {
	if o.Kustomize != "" {
		set, err := manifest.Kustomize(o.Kustomize)
		return o.checked(set, err, []string{o.Kustomize})
	}
	set, err := o.reader(manifest.Strict).Read(o.Files...)
	return o.checked(set, err, o.Files)
}

func (o *Options) readBefore(files []string, mode manifest.Mode) (*manifest.Set, error) {
	set, err := o.reader(mode).Read(files...)
	if mode == manifest.Lenient {
		if err == nil {
			err = set.DefaultNamespace(metav1.NamespaceDefault, false)
		}
		if err != nil {
			return nil, err
		}
		return set.Latest(), nil
	}
	return o.checked(set, err, files)
}

func (o *Options) reader(mode manifest.Mode) manifest.Reader {
	return manifest.Reader{Stdin: o.In, Recursive: o.Recursive, Mode: mode, Each: sideBySide}
}

// checked refuses manifests that say nothing about a rollout.
func (o *Options) checked(set *manifest.Set, err error, files []string) (*manifest.Set, error) {
	if err != nil || len(files) == 0 {
		return set, err
	}
	if err := set.DefaultNamespace(o.Namespace, o.ExplicitNamespace); err != nil {
		return nil, err
	}
	if err := set.Unique(); err != nil {
		return nil, err
	}
	for _, item := range set.Items {
		if isWorkload(item.Object) {
			return set, nil
		}
	}
	also := ""
	if ignored := set.Ignored(); ignored != "" {
		also = " (ignored: " + ignored + ")"
	}
	return nil, fmt.Errorf("%s: there is no Deployment or ReplicaSet in it%s", manifest.Printable(strings.Join(files, ", ")), also)
}

// told takes the scenarios out of the items; several are one story.
func (s *scene) told(items []manifest.Item) []manifest.Item {
	return slices.DeleteFunc(slices.Clone(items), func(item manifest.Item) bool {
		scenario, ok := item.Object.(*v1alpha1.Scenario)
		if ok {
			s.story.Pods = append(s.story.Pods, scenario.Spec.Pods...)
			s.story.Steps = append(s.story.Steps, scenario.Spec.Steps...)
			s.story.Faults = append(s.story.Faults, scenario.Spec.Faults...)
			s.story.Loads = append(s.story.Loads, scenario.Spec.Loads...)
			s.story.NodeGroups = append(s.story.NodeGroups, scenario.Spec.NodeGroups...)
			s.story.WatchDelays = append(s.story.WatchDelays, scenario.Spec.WatchDelays...)
			s.facts = append(s.facts, "scenario "+scenario.Name)
		}
		return ok
	})
}

// stage sorts objects by when they come into the world. A file alone is a
// fresh creation, unless flags say what changes about it.
func (s *scene) stage(o *Options, wanted, from, state []manifest.Item) {
	s.loaded, s.settled = state, from
	if len(o.State) > 0 {
		s.source = v1alpha1.SourceDump
	}
	there := map[trace.Ref]bool{}
	for _, item := range slices.Concat(from, state) {
		there[ref(item.Object)] = true
	}
	for _, item := range wanted {
		// Quotas, nodes and the like that come with a manifest are the world of
		// its rollout rather than a part of it, unless they are what changes.
		if o.Change.Empty() && (isWorkload(item.Object) || there[ref(item.Object)] || len(o.State) > 0 || o.Cluster != nil) {
			s.applied = append(s.applied, item)
		} else {
			s.settled = append(s.settled, item)
		}
	}
	// What shapes the world of the workloads is there before them.
	sort.SliceStable(s.settled, func(i, j int) bool { return order(s.settled[i].Object) < order(s.settled[j].Object) })
}

func order(obj manifest.Object) int {
	if isWorkload(obj) {
		return 1
	}
	return 0
}

// choose picks what the plan is about: of what changes, or else of what is there.
func (s *scene) choose(o *Options) error {
	pool := s.applied
	if len(pool) == 0 {
		pool = slices.Concat(s.settled, s.loaded)
	}
	if len(o.going) > 0 {
		s.targets, s.workloads = o.going, o.going
		return nil
	}
	selection := selection{targets: o.Targets, selector: o.Selector}
	if o.ExplicitNamespace || o.Cluster != nil && len(s.applied) == 0 {
		selection.namespace = o.Namespace
	}
	var err error
	if s.targets, err = selection.from(objects(pool)); err != nil {
		return err
	}
	switch {
	case len(s.targets) == 0 && o.Selector != nil:
		return fmt.Errorf("no Deployment or ReplicaSet of the input matches -l %s", o.Selector)
	case len(s.targets) == 0:
		return errors.New("there is no Deployment or ReplicaSet in the input")
	case len(s.targets) > 1 && !o.Change.Empty() && len(o.Targets) == 0 && o.Selector == nil:
		return fmt.Errorf("the input has %d workloads: say with TYPE/NAME or -l which of them to change", len(s.targets))
	}
	s.applied = slices.DeleteFunc(slices.Clone(s.applied), func(item manifest.Item) bool {
		return isWorkload(item.Object) && !slices.Contains(s.targets, ref(item.Object))
	})
	s.follow(pool)
	return nil
}

// follow makes the targets the workloads of the run. A ReplicaSet that belongs
// to a Deployment is followed with it, since the Deployment decides its size.
func (s *scene) follow(pool []manifest.Item) {
	owner := map[trace.Ref]trace.Ref{}
	for _, item := range pool {
		if c := metav1.GetControllerOf(item.Object); c != nil && c.Kind == "Deployment" && isWorkload(item.Object) {
			owner[ref(item.Object)] = trace.Ref{Kind: c.Kind, Namespace: item.Object.GetNamespace(), Name: c.Name}
		}
	}
	there := objects(pool)
	for _, target := range s.targets {
		if o, owned := owner[target]; owned && slices.ContainsFunc(there, func(obj manifest.Object) bool { return ref(obj) == o }) {
			target = o
		}
		if !slices.Contains(s.workloads, target) {
			s.workloads = append(s.workloads, target)
		}
	}
}

func (s *scene) setTime(o *Options) {
	switch newest := NewestTime(objects(s.loaded)); {
	case !o.Now.IsZero():
		s.start = o.Now
	case s.snapshot != nil && s.snapshot.Time.After(newest):
		s.start = s.snapshot.Time.Truncate(time.Millisecond)
	case !newest.IsZero():
		s.start = newest
	}
}

func objects(items []manifest.Item) []manifest.Object {
	set := manifest.Set{Items: items}
	return set.Objects()
}
