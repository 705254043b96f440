package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/replay"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/explain"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// maxNext is how many of the next steps are listed.
const maxNext = 20

// fromRecording explains by the events of a recording.
func (o *Options) fromRecording() (*v1alpha1.Explanation, error) {
	plan, err := replay.Read(o.Recording, o.In)
	if err != nil {
		return nil, err
	}
	if !o.atGiven {
		o.At = -1
	}
	r := explain.NewRecording(plan, o.At)
	status, ok := (*v1alpha1.ExplanationStatus)(nil), false
	ref := trace.Ref{Kind: o.Kind, Namespace: o.namespaceIn(plan), Name: o.Name}
	if o.Kind == "Pod" {
		status, ok = r.Pod(ref.Namespace, ref.Name)
	} else {
		status, ok = r.Workload(ref)
	}
	if !ok {
		return nil, fmt.Errorf("%s: the recording does not tell of it in namespace %q", short(ref), ref.Namespace)
	}
	if o.Next {
		status.Next = r.Next(maxNext)
	}
	spec := v1alpha1.ExplanationSpec{Object: ref, Source: v1alpha1.SourceRecording, KubernetesVersion: plan.Spec.KubernetesVersion, OffsetSeconds: r.End().Seconds()}
	if o.At > r.End() {
		spec.OffsetSeconds = o.At.Seconds()
	}
	if started := plan.Spec.Started(); !started.IsZero() {
		now := metav1.NewMicroTime(started.Add(time.Duration(spec.OffsetSeconds * float64(time.Second))))
		spec.Time = &now
	}
	e := v1alpha1.NewExplanation(spec)
	e.Status = *status
	return e, nil
}

// namespaceIn is the one asked for, or else that of an object of the name.
func (o *Options) namespaceIn(plan *v1alpha1.RolloutPlan) string {
	if o.ExplicitNamespace {
		return o.Namespace
	}
	for _, e := range plan.Events {
		if e.Object.Name == o.Name && e.Object.Kind == o.Kind {
			return e.Object.Namespace
		}
	}
	if len(plan.Spec.Workloads) > 0 {
		return plan.Spec.Workloads[0].Namespace
	}
	return o.Namespace
}

// short is how kubectl names an object.
func short(ref trace.Ref) string {
	return strings.ToLower(ref.Kind) + "/" + manifest.Printable(ref.Name)
}

// fromSnapshot explains by what a cluster or a dump holds.
func (o *Options) fromSnapshot(ctx context.Context) (*v1alpha1.Explanation, []string, error) {
	ref := trace.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
	snapshot, warnings, err := o.snapshot(ctx, &ref)
	if err != nil {
		return nil, nil, err
	}
	status, ok := (*v1alpha1.ExplanationStatus)(nil), false
	switch o.Kind {
	case "Pod":
		status, ok = snapshot.Pod(ctx, ref.Namespace, ref.Name)
	case "ReplicaSet":
		status, ok = snapshot.ReplicaSet(ctx, ref.Namespace, ref.Name)
	default:
		status, ok = snapshot.Deployment(ctx, ref.Namespace, ref.Name)
	}
	if !ok {
		return nil, nil, o.unknown(ref)
	}
	spec := v1alpha1.ExplanationSpec{Object: ref, Source: v1alpha1.SourceDump, KubernetesVersion: snapshot.Version.String()}
	if o.Cluster != nil {
		spec.Source, spec.Context = v1alpha1.SourceCluster, o.Cluster.Context
	}
	now := metav1.NewMicroTime(snapshot.Now.UTC())
	spec.Time = &now
	e := v1alpha1.NewExplanation(spec)
	e.Status = *status
	if o.Next {
		more, err := o.next(ctx, snapshot, ref, e)
		warnings = append(warnings, more...)
		if err != nil {
			return nil, nil, err
		}
	}
	return e, warnings, nil
}

func (o *Options) unknown(ref trace.Ref) error {
	resource := map[string]string{"Pod": "pods", "ReplicaSet": "replicasets.apps", "Deployment": "deployments.apps"}[ref.Kind]
	where := " of the input"
	if o.Cluster != nil {
		where = ""
	}
	also := ""
	if ref.Kind == "Pod" {
		also = ", and nothing tells of one that was there"
	}
	return fmt.Errorf("%s %q not found in namespace %q%s%s", resource, manifest.Printable(ref.Name), ref.Namespace, where, also)
}

// snapshot reads what there is; the namespace of ref is found out where the user did not say it.
func (o *Options) snapshot(ctx context.Context, ref *trace.Ref) (*explain.Snapshot, []string, error) {
	if o.Cluster != nil {
		return o.fromCluster(ctx, *ref)
	}
	set, err := manifest.Reader{Stdin: bytes.NewReader(o.stdin), Recursive: o.Recursive, Mode: manifest.Lenient, Events: true}.Read(o.State...)
	if err == nil {
		err = set.DefaultNamespace(metav1.NamespaceDefault, false)
	}
	if err != nil {
		return nil, nil, err
	}
	objects := set.Latest().Objects()
	ref.Namespace = o.namespaceOf(objects)
	now := o.Now
	if now.IsZero() {
		now = predict.NewestTime(objects)
	}
	list := make([]explain.Object, len(objects))
	for i, obj := range objects {
		list[i] = obj
	}
	var warnings []string
	if ignored := set.Ignored(); ignored != "" {
		warnings = append(warnings, "ignored: "+ignored)
	}
	return explain.NewSnapshot(now, o.Version, list), warnings, nil
}

// namespaceOf is the one asked for, or the only one in which there is such an object.
func (o *Options) namespaceOf(objects []manifest.Object) string {
	if o.ExplicitNamespace {
		return o.Namespace
	}
	found := ""
	for _, obj := range objects {
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		is := kind == o.Kind && obj.GetName() == o.Name
		if o.Kind == "Pod" && kind == "ReplicaSet" { // of a pod that is not there
			is = strings.HasPrefix(o.Name, obj.GetName()+"-")
		}
		switch ns := obj.GetNamespace(); {
		case is && ns == o.Namespace:
			return ns
		case is && found == "":
			found = ns
		}
	}
	if found == "" {
		return o.Namespace
	}
	return found
}

func (o *Options) fromCluster(ctx context.Context, ref trace.Ref) (*explain.Snapshot, []string, error) {
	read, err := o.Cluster.Surroundings(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	warnings := read.Warnings()
	version := o.Version
	if !o.versionGiven {
		exact := false
		if version, exact = rollout.NearestVersion(read.Version); !exact {
			warnings = append(warnings, fmt.Sprintf("the server is of version %q: the controllers of %s are followed", read.Version, version))
		}
	}
	now := o.Now
	if now.IsZero() {
		now = read.Time
	}
	return explain.NewSnapshot(now, version, around(read)), warnings, nil
}

func around(read *live.Surroundings) []explain.Object {
	var list []explain.Object
	for _, obj := range read.Objects() {
		list = append(list, obj)
	}
	for _, e := range read.Events {
		list = append(list, e)
	}
	return list
}

// next simulates how it goes on: a plan without a change.
func (o *Options) next(ctx context.Context, snapshot *explain.Snapshot, ref trace.Ref, e *v1alpha1.Explanation) ([]string, error) {
	root, ok := snapshot.Root(ref)
	if !ok {
		return nil, errors.New("--next: the pod belongs to no Deployment or ReplicaSet, so no controller does anything with it")
	}
	plan := &predict.Options{IOStreams: o.IOStreams}
	plan.In = bytes.NewReader(o.stdin)
	cmd := &cobra.Command{}
	plan.AddFlags(cmd.Flags())
	args := []string{"--diagnose=false", "--now", snapshot.Now.UTC().Format(time.RFC3339Nano)}
	for _, file := range o.State {
		args = append(args, "--state", file)
	}
	if o.versionGiven {
		args = append(args, "--kubernetes-version", o.Version.String())
	}
	if err := cmd.ParseFlags(args); err != nil {
		return nil, err
	}
	if err := plan.Prepare(cmd, o.getter, []string{short(root)}); err != nil {
		return nil, err
	}
	p, err := predict.Make(ctx, plan)
	if err != nil {
		return nil, err
	}
	e.Status.Next = explain.NewRecording(p.Plan, 0).Next(maxNext)
	return p.Warnings, nil
}
