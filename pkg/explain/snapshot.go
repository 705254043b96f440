// Package explain says why a Deployment, a ReplicaSet or a pod is as it is, and
// what the controllers do next: of what a cluster holds at a moment, by running
// one pass of the controllers on it and by reading conditions, Events, owners
// and times; or of a recording, by walking the causes in its events.
package explain

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// Object is what a cluster holds.
type Object interface {
	metav1.Object
	runtime.Object
}

// Snapshot is what is known of a cluster at a moment. What it holds is not changed.
type Snapshot struct {
	Now     time.Time
	Version rollout.Version

	Deployments []*appsv1.Deployment
	ReplicaSets []*appsv1.ReplicaSet
	Pods        []*corev1.Pod
	Nodes       []*corev1.Node
	Events      []*corev1.Event
}

// NewSnapshot sorts objects; other kinds than those of its fields tell nothing here.
func NewSnapshot(now time.Time, v rollout.Version, objs []Object) *Snapshot {
	s := &Snapshot{Now: now, Version: v}
	for _, obj := range objs {
		switch o := obj.(type) {
		case *appsv1.Deployment:
			s.Deployments = append(s.Deployments, sized(o, o.Spec.Replicas, func(d *appsv1.Deployment) **int32 { return &d.Spec.Replicas }))
		case *appsv1.ReplicaSet:
			s.ReplicaSets = append(s.ReplicaSets, sized(o, o.Spec.Replicas, func(rs *appsv1.ReplicaSet) **int32 { return &rs.Spec.Replicas }))
		case *corev1.Pod:
			s.Pods = append(s.Pods, o)
		case *corev1.Node:
			s.Nodes = append(s.Nodes, o)
		case *corev1.Event:
			s.Events = append(s.Events, o)
		}
	}
	sortNamed(s.Deployments)
	sortNamed(s.ReplicaSets)
	sortNamed(s.Pods)
	slices.SortStableFunc(s.Events, func(a, b *corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	return s
}

// sized is an object with the API server's default where a file leaves its size out.
func sized[T any](obj *T, replicas *int32, field func(*T) **int32) *T {
	if replicas != nil {
		return obj
	}
	out, one := *obj, int32(1)
	*field(&out) = &one
	return &out
}

// sortNamed puts objects in an order that depends on them alone.
func sortNamed[T metav1.Object](list []T) {
	slices.SortStableFunc(list, func(a, b T) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
}

func find[T metav1.Object](list []T, namespace, name string) (found T, ok bool) {
	for _, obj := range list {
		if obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj, true
		}
	}
	return found, false
}

// setsOf are the ReplicaSets that a Deployment controls.
func (s *Snapshot) setsOf(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	var out []*appsv1.ReplicaSet
	for _, rs := range s.ReplicaSets {
		if metav1.IsControlledBy(rs, d) {
			out = append(out, rs)
		}
	}
	return out
}

// podsOf are the pods that a ReplicaSet controls.
func (s *Snapshot) podsOf(rs *appsv1.ReplicaSet) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range s.Pods {
		if pod.Namespace == rs.Namespace && metav1.IsControlledBy(pod, rs) {
			out = append(out, pod)
		}
	}
	return out
}

// owner is the Deployment that controls a ReplicaSet; nil for none that is known.
func (s *Snapshot) owner(rs *appsv1.ReplicaSet) *appsv1.Deployment {
	for _, d := range s.Deployments {
		if d.Namespace == rs.Namespace && metav1.IsControlledBy(rs, d) {
			return d
		}
	}
	return nil
}

// isNew says that a ReplicaSet has its Deployment's template, or has no Deployment.
func (s *Snapshot) isNew(rs *appsv1.ReplicaSet) bool {
	d := s.owner(rs)
	return d == nil || rollout.FindNewReplicaSet(d, s.setsOf(d)) == rs
}

// setNamed is the ReplicaSet whose name a pod's name begins with, the longest
// should several do; nil for none.
func (s *Snapshot) setNamed(namespace, pod string) *appsv1.ReplicaSet {
	var found *appsv1.ReplicaSet
	for _, rs := range s.ReplicaSets {
		if rs.Namespace == namespace && strings.HasPrefix(pod, rs.Name+"-") && (found == nil || len(rs.Name) > len(found.Name)) {
			found = rs
		}
	}
	return found
}

// about are the Events about an object, oldest first.
func (s *Snapshot) about(ref trace.Ref) []*corev1.Event {
	var out []*corev1.Event
	for _, e := range s.Events {
		if e.InvolvedObject.Kind == ref.Kind && e.InvolvedObject.Namespace == ref.Namespace && e.InvolvedObject.Name == ref.Name {
			out = append(out, e)
		}
	}
	return out
}

// eventTime is when an Event was said last.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// matches says whether a ReplicaSet selects these labels.
func matches(rs *appsv1.ReplicaSet, set map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(set))
}

// Root is the Deployment or ReplicaSet whose controller decides about an
// object; false for a pod that belongs to none that is known.
func (s *Snapshot) Root(ref trace.Ref) (trace.Ref, bool) {
	if pod, ok := find(s.Pods, ref.Namespace, ref.Name); ok && ref.Kind == "Pod" {
		c := s.podCase(pod)
		if c.set == nil {
			return ref, false
		}
		ref = derive.Ref(c.set)
	} else if ref.Kind == "Pod" {
		set := s.setNamed(ref.Namespace, ref.Name)
		if set == nil {
			return ref, false
		}
		ref = derive.Ref(set)
	}
	if rs, ok := find(s.ReplicaSets, ref.Namespace, ref.Name); ok && ref.Kind == "ReplicaSet" {
		if d := s.owner(rs); d != nil {
			return derive.Ref(d), true
		}
	}
	return ref, true
}
