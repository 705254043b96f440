package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
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
	progress := startProgress(o.ErrOut)
	query.Progress = progress.tell
	s.snapshot, err = o.Cluster.Read(ctx, query)
	progress.end()
	return err
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

// ask has the server compute the change.
func (s *scene) ask(ctx context.Context, o *Options) error {
	s.answers = map[trace.Ref]manifest.Object{}
	defer func() { s.warnings = append(s.warnings, o.Cluster.Warnings()...) }()
	for _, item := range s.applied {
		if !isWorkload(item.Object) {
			continue
		}
		at := ref(item.Object)
		answer, err := o.Cluster.Apply(ctx, live.Manifest{Ref: at, JSON: item.Raw, Source: item.Source.File}, s.snapshot.Find(at), o.Apply)
		if err != nil {
			return err
		}
		s.take(at, answer, nil)
	}
	if o.Change.Empty() {
		return nil
	}
	for _, target := range s.targets {
		if err := s.askChange(ctx, o, target); err != nil {
			return err
		}
	}
	return nil
}

// askChange sends the request of the kubectl verbs for one workload.
func (s *scene) askChange(ctx context.Context, o *Options, target trace.Ref) error {
	before := s.snapshot.Find(target)
	result, err := o.Change.Apply(change.Input{Object: before, Owned: s.owned(before), Now: s.start})
	if err != nil {
		return err
	}
	s.warnings = append(s.warnings, result.Warnings...)
	request, err := o.Change.Request(before, result.Object)
	if err != nil {
		return err
	}
	answer, err := o.Cluster.Patch(ctx, live.Patch{Ref: target, Type: request.Type, Data: request.Data,
		Subresource: request.Subresource, FieldManager: request.FieldManager})
	if err != nil {
		return err
	}
	s.take(target, answer, result.Object)
	return nil
}

// take enters the server's answer. Where that is no more than a yes, the object
// is the one computed here.
func (s *scene) take(at trace.Ref, answer live.Answer, computed manifest.Object) {
	switch {
	case answer.Refused != "":
		fact := "change computed here, as you may not " + answer.Refused
		if !slices.Contains(s.facts, fact) {
			s.facts = append(s.facts, fact)
		}
	case answer.Object != nil && s.snapshot.Find(at) == nil:
		answer.Object.SetResourceVersion("") // it is still to be created
		s.answers[at] = answer.Object
	case answer.Object != nil:
		s.answers[at] = answer.Object
	default:
		s.answers[at] = computed
	}
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
