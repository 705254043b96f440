package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// read takes a snapshot of what the plan is about, unless there is one.
func (s *scene) read(ctx context.Context, o *Options, wanted []manifest.Item) error {
	if s.snapshot != nil {
		return nil
	}
	query, err := o.query(wanted)
	if err != nil {
		return err
	}
	query.Evictions = drains(s.story.Steps) || drains(o.Steps)
	query.Claims = slices.ContainsFunc(wanted, func(item manifest.Item) bool {
		spec := podSpec(item.Object)
		return spec != nil && live.HasClaims(spec)
	})
	progress := startProgress(o.ErrOut)
	query.Progress = progress.tell
	s.snapshot, err = o.Cluster.Read(ctx, query)
	progress.end()
	return err
}

// drains says whether somebody drains a node.
func drains(steps []v1alpha1.ScenarioStep) bool {
	return slices.ContainsFunc(steps, func(s v1alpha1.ScenarioStep) bool { return s.Node == "drain" })
}

// enter sorts a snapshot's objects: what is there as it is goes into there;
// workloads whose pods may not be read go into before, as finished.
func (s *scene) enter(o *Options) (before, there []manifest.Item) {
	s.source, s.context = v1alpha1.SourceCluster, o.Cluster.Context
	s.warnings = append(s.warnings, s.snapshot.Warnings()...)
	s.setVersion(o)
	for _, obj := range s.snapshot.Objects() {
		item := manifest.Item{Object: obj, Source: manifest.Source{File: "the cluster"}}
		if isWorkload(obj) && !s.snapshot.PodsKnown() {
			item.Object = afresh(obj)
			before = append(before, item)
		} else {
			there = append(there, item)
		}
	}
	return before, there
}

// query is what to read for the wanted manifests, or else for the arguments.
func (o *Options) query(wanted []manifest.Item) (live.Query, error) {
	q := live.Query{Namespace: o.Namespace, NoNodes: o.Nodes.Explicit, MayBeMissing: len(wanted) > 0}
	switch {
	case len(wanted) > 0:
		chosen := selection{targets: o.Targets, selector: o.Selector}
		var err error
		q.Workloads, err = chosen.from(objects(wanted))
		return q, err
	case o.Selector != nil:
		q.Selector = o.Selector
	default:
		for _, target := range o.Targets {
			q.Workloads = append(q.Workloads, trace.Ref{Kind: target.Kind, Namespace: o.Namespace, Name: target.Name})
		}
	}
	return q, nil
}

// afresh is a workload as it would be applied, without what has come of it.
func afresh(obj manifest.Object) manifest.Object {
	out := obj.DeepCopyObject().(manifest.Object)
	out.SetOwnerReferences(nil)
	out.SetResourceVersion("")
	switch o := out.(type) {
	case *appsv1.Deployment:
		o.Status = appsv1.DeploymentStatus{}
		delete(o.Annotations, rollout.RevisionAnnotation)
	case *appsv1.ReplicaSet:
		o.Status = appsv1.ReplicaSetStatus{}
	}
	return out
}

// setVersion follows the controllers of the server's release, or the nearest
// that are known, unless the user chose.
func (s *scene) setVersion(o *Options) {
	if o.raw.versionSet {
		return
	}
	version, exact := rollout.NearestVersion(s.snapshot.Version)
	o.Version = version
	if !exact {
		s.warnings = append(s.warnings, fmt.Sprintf("the server is of version %q: the controllers of %s are followed", s.snapshot.Version, version))
	}
}

// ask has the server compute the change: a dry run of what apply does.
func (s *scene) ask(ctx context.Context, o *Options) error {
	s.answers = map[trace.Ref]manifest.Object{}
	warn := func(text string) { s.warnings = append(s.warnings, text) }
	k := &kubectl.Kubectl{Getter: o.getter, DryRun: kubectl.DryRunServer, Known: s.snapshot, Warn: warn}
	defer func() { s.warnings = append(s.warnings, o.Cluster.Warnings()...) }()
	for _, item := range s.applied {
		if !isWorkload(item.Object) {
			continue
		}
		if err := s.askApply(k, o, item); err != nil {
			return err
		}
	}
	if o.Change.Empty() {
		return nil
	}
	for _, target := range s.targets {
		if err := s.askChange(ctx, k, o, target); err != nil {
			return err
		}
	}
	return nil
}

// askApply asks about one manifest.
func (s *scene) askApply(k *kubectl.Kubectl, o *Options, item manifest.Item) error {
	at := ref(item.Object)
	wanted := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(item.Raw, &wanted.Object); err != nil {
		return fmt.Errorf("reading %s: %w", item.Source, err)
	}
	wanted.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(at.Kind)) // an item of a list need not say it
	data, err := wanted.MarshalJSON()
	if err != nil {
		return fmt.Errorf("reading %s: %w", item.Source, err)
	}
	answer, err := k.Apply(kubectl.Manifests{
		Documents: []kubectl.Document{{JSON: data, Source: item.Source.File}}, Namespace: at.Namespace, Options: o.Apply,
	})
	if err := s.take(at, answer, err, nil); err != nil {
		return err
	}
	if _, said, _ := unstructured.NestedFieldNoCopy(wanted.Object, "spec", "replicas"); !said {
		s.warnFallback(at, item.Source)
	}
	return nil
}

// warnFallback warns of replicas that a manifest no longer says, so that the
// server's default takes the place of what was applied before.
func (s *scene) warnFallback(at trace.Ref, source manifest.Source) {
	was, is := replicas(s.snapshot.Find(at)), replicas(s.answers[at])
	if was != nil && is != nil && *is == 1 && *was != 1 {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: replicas was in the manifest applied last and no longer is, so that it falls back from %d to 1", source.File, *was))
	}
}

func replicas(obj manifest.Object) *int32 {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return o.Spec.Replicas
	}
	return nil
}

// askChange asks about what flags change of one workload.
func (s *scene) askChange(ctx context.Context, k *kubectl.Kubectl, o *Options, target trace.Ref) error {
	before := s.snapshot.Find(target)
	result, err := o.Change.Apply(change.Input{Object: before, Owned: s.owned(before), Now: s.start})
	if err != nil {
		return err
	}
	s.warnings = append(s.warnings, result.Warnings...)
	answer, err := k.Change(ctx, o.Change, target)
	return s.take(target, answer, err, result.Object)
}

// take enters the server's answer. Where that is no more than a yes, the object
// is the one computed here; so it is where the user may not make the change,
// which is kept for those who go on to make it.
func (s *scene) take(at trace.Ref, answer kubectl.Outcome, err error, computed manifest.Object) error {
	switch {
	case answer.Denied != "":
		if s.refused == nil {
			s.refused = err
		}
		if fact := "change computed here, as you may not " + answer.Denied; !slices.Contains(s.facts, fact) {
			s.facts = append(s.facts, fact)
		}
	case err != nil:
		return err
	case !answer.Sent:
		s.answers[at] = s.snapshot.Find(at)
	case answer.Object == nil:
		s.answers[at] = computed
	default:
		if s.snapshot.Find(at) == nil {
			answer.Object.SetResourceVersion("") // it is still to be created
		}
		s.answers[at] = answer.Object
	}
	return nil
}

// owned are the ReplicaSets of a Deployment in the snapshot.
func (s *scene) owned(obj manifest.Object) []*appsv1.ReplicaSet {
	return slices.DeleteFunc(slices.Clone(s.snapshot.ReplicaSets), func(rs *appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(rs, obj) })
}

// worthTelling leaves out of a cluster's events that each pod of the others was
// found: there may be thousands.
func (s *scene) worthTelling(events []trace.Event) []trace.Event {
	if len(s.others) == 0 {
		return events
	}
	return slices.DeleteFunc(events, func(e trace.Event) bool {
		return e.Actor == trace.ActorWorld && s.others[e.Object]
	})
}

// release lets go of what the world has its own copies of, unless it is little
// and may be needed again.
func (s *scene) release(again bool) {
	s.noteOthers()
	if again && len(s.loaded) <= rememberable {
		return
	}
	s.loaded, s.released = nil, true
	if s.snapshot != nil {
		s.snapshot.Others, s.snapshot.Nodes = nil, nil
	}
}

// noteOthers remembers which pods of a cluster only take room.
func (s *scene) noteOthers() {
	if s.snapshot == nil {
		return
	}
	s.others = map[trace.Ref]bool{}
	for _, pod := range s.snapshot.Others {
		s.others[trace.Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}] = true
	}
}

// clusterName is how the header calls the cluster.
func (s *scene) clusterName() string {
	if s.context == "" {
		return "live cluster"
	}
	return fmt.Sprintf("live cluster %q", strings.TrimSpace(s.context))
}
