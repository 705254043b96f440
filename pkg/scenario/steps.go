package scenario

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/user"
)

// kindsByWord are the types a step's target may name.
var kindsByWord = map[string]string{
	"deploy": "Deployment", "deployment": "Deployment", "deployments": "Deployment",
	"rs": "ReplicaSet", "replicaset": "ReplicaSet", "replicasets": "ReplicaSet",
	"po": "Pod", "pod": "Pod", "pods": "Pod", "no": "Node", "node": "Node", "nodes": "Node",
	"quota": "ResourceQuota", "resourcequota": "ResourceQuota",
	"hpa": "HorizontalPodAutoscaler", "horizontalpodautoscaler": "HorizontalPodAutoscaler",
}

// steps turns a story's steps into a person's. The world is the one they act
// in, which is there by the time a step runs.
func (w *World) steps(story []v1alpha1.ScenarioStep) ([]user.Step, error) {
	out := make([]user.Step, len(story))
	for i := range story {
		s := &story[i]
		act, err := w.act(s)
		if err != nil {
			return nil, fmt.Errorf("steps[%d]: %w", i, err)
		}
		out[i] = user.Step{At: s.At.Duration, What: describe(s), Do: act}
	}
	return out, nil
}

func describe(s *v1alpha1.ScenarioStep) string {
	if s.Apply != nil {
		return "apply"
	}
	return "step on " + s.Target
}

// act is what a step does when its time comes.
func (w *World) act(s *v1alpha1.ScenarioStep) (func(context.Context, engine.Hand) error, error) {
	do, err := w.verb(s)
	if err != nil || !s.Refused {
		return do, err
	}
	return func(ctx context.Context, hand engine.Hand) error {
		if err := do(ctx, hand); err != nil {
			w.Refusals = append(w.Refusals, err)
			return nil
		}
		return errors.New("was not refused")
	}, nil
}

func (w *World) verb(s *v1alpha1.ScenarioStep) (func(context.Context, engine.Hand) error, error) {
	if s.ServerSide != nil {
		return w.serverSideApply(s)
	}
	if s.Apply != nil {
		set, err := manifest.Decode("apply", s.Apply.Raw, manifest.Strict)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, hand engine.Hand) error {
			for _, item := range set.Items {
				if err := apply(ctx, hand, item.Object); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	target, err := targetOf(s)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Node != "":
		return w.nodeVerb(s, target)
	case s.Load != nil:
		return w.loadVerb(s, target)
	case s.Delete != "":
		return func(ctx context.Context, hand engine.Hand) error {
			return w.each(target, s.First, func(ref trace.Ref) error { return hand.Delete(ctx, ref, s.Delete) })
		}, nil
	case s.Pod != "":
		return func(context.Context, engine.Hand) error {
			deed := kubelet.Act{Do: kubelet.Deed(s.Pod), Reason: s.Reason}
			return w.each(target, s.First, func(ref trace.Ref) error { return w.Kubelet.Act(ref.Namespace, ref.Name, deed) })
		}, nil
	}
	return func(ctx context.Context, hand engine.Hand) error {
		return w.each(target, s.First, func(ref trace.Ref) error { return w.alter(ctx, hand, s, ref) })
	}, nil
}

// apply is kubectl apply of a Deployment or ReplicaSet: the manifest is merged
// with what others have set, and remembered for the next time. Objects of other
// kinds are replaced.
func apply(ctx context.Context, hand engine.Hand, wanted manifest.Object) error {
	next := wanted
	switch wanted.(type) {
	case *appsv1.Deployment, *appsv1.ReplicaSet:
		ref := sim.RefOf(wanted)
		if ref.Namespace == "" {
			ref.Namespace = metav1.NamespaceDefault
		}
		live, err := hand.Get(ctx, ref)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil {
			if next, err = change.Apply(live.(manifest.Object), wanted, nil); err != nil {
				return err
			}
		}
		if next, err = change.Remember(next, wanted); err != nil {
			return err
		}
	}
	_, err := hand.Apply(ctx, next)
	return err
}

func targetOf(s *v1alpha1.ScenarioStep) (trace.Ref, error) {
	word, name, ok := strings.Cut(s.Target, "/")
	kind := kindsByWord[strings.ToLower(word)]
	if !ok || kind == "" || name == "" {
		return trace.Ref{}, fmt.Errorf("target %q is not TYPE/NAME of a deployment, replicaset, pod, node, hpa or quota", s.Target)
	}
	ref := trace.Ref{Kind: kind, Namespace: s.Namespace, Name: name}
	switch {
	case kind == "Node": // in no namespace, whatever the others are in
		ref.Namespace = ""
	case ref.Namespace == "":
		ref.Namespace = metav1.NamespaceDefault
	}
	return ref, nil
}

// each calls do for the target, or for those that its pattern matches in order
// of creation: the first so many, or all for 0.
func (w *World) each(target trace.Ref, first int, do func(trace.Ref) error) error {
	if !strings.ContainsAny(target.Name, "*?[") {
		return do(target)
	}
	resource, _ := sim.Resource(target.Kind)
	found := 0
	for _, obj := range w.Stored().List(resource, target.Namespace) {
		if ok, err := path.Match(target.Name, obj.GetName()); err != nil || !ok {
			continue
		}
		if found++; first > 0 && found > first {
			break
		}
		if err := do(sim.RefOf(obj)); err != nil {
			return err
		}
	}
	if found == 0 {
		return fmt.Errorf("no %s matches %q", target.Kind, target.Name)
	}
	return nil
}

// alter makes all changes of a step to one object in one write.
func (w *World) alter(ctx context.Context, hand engine.Hand, s *v1alpha1.ScenarioStep, ref trace.Ref) error {
	got, err := hand.Get(ctx, ref)
	if err != nil {
		return err
	}
	obj := got.(manifest.Object)
	set := change.Set{Replicas: s.Replicas, Restart: s.Restart, Undo: s.Undo, Pause: s.Pause, Resume: s.Resume}
	for _, name := range sortedKeys(s.Images) {
		set.Images = append(set.Images, change.Image{Container: name, Image: s.Images[name]})
	}
	if s.Patch != nil {
		set.Patch = s.Patch.Raw
	}
	if !set.Empty() {
		result, err := set.Apply(change.Input{Object: obj, Owned: w.Owned(obj), Now: w.Now()})
		if err != nil {
			return err
		}
		obj = result.Object
		w.Warnings = append(w.Warnings, result.Warnings...)
	}
	obj.SetLabels(merged(obj.GetLabels(), s.Labels))
	obj.SetAnnotations(merged(obj.GetAnnotations(), s.Annotations))
	_, err = hand.Apply(ctx, obj)
	return err
}

// Owned are the ReplicaSets that an object controls, as stored.
func (w *World) Owned(obj metav1.Object) (out []*appsv1.ReplicaSet) {
	for _, candidate := range w.Stored().List(sim.ReplicaSets, obj.GetNamespace()) {
		if rs, ok := candidate.(*appsv1.ReplicaSet); ok && metav1.IsControlledBy(rs, obj) {
			out = append(out, rs)
		}
	}
	return out
}
