package live

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Snapshot is what a plan begins with, as read from a cluster.
type Snapshot struct {
	Time    time.Time // the server's, when the reading ended
	Version string    // the server's release, as v1.37.2; empty when it does not say

	Deployments []*appsv1.Deployment
	ReplicaSets []*appsv1.ReplicaSet // those of the Deployments, those asked for, and orphans these would adopt
	Pods        []*corev1.Pod        // those of the ReplicaSets, and orphans these would adopt
	// Others are pods of other owners, cut down to what takes room from the rest.
	Others      []*corev1.Pod
	Nodes       []*corev1.Node
	Quotas      []*corev1.ResourceQuota
	LimitRanges []*corev1.LimitRange
	Autoscalers []*autoscalingv2.HorizontalPodAutoscaler
	Budgets     []*policyv1.PodDisruptionBudget
	Classes     []*schedulingv1.PriorityClass
	Namespaces  []*corev1.Namespace // those of the workloads
	// Claims, their volumes and the classes of storage are read where pods of the
	// workloads use claims and the nodes are known.
	Claims         []*corev1.PersistentVolumeClaim
	Volumes        []*corev1.PersistentVolume
	StorageClasses []*storagev1.StorageClass

	nodesAsked bool
	denied     map[string]bool
}

// The resources whose reading may be forbidden.
const (
	nodes         = "nodes"
	replicaSets   = "replicasets"
	pods          = "pods"
	podsElsewhere = "pods of other namespaces"
	quotas        = "resourcequotas"
	limitRanges   = "limitranges"
	autoscalers   = "horizontalpodautoscalers"
	budgets       = "poddisruptionbudgets"
	classes       = "priorityclasses"
	events        = "events"

	namespaces        = "namespaces"
	claims            = "persistentvolumeclaims"
	persistentVolumes = "persistentvolumes"
	storageClasses    = "storageclasses"
)

// assumed says what is taken to be so where kinds cannot be read.
var assumed = []struct {
	kinds []string
	what  string
}{
	{[]string{replicaSets, pods}, "the last rollout is taken as finished"},
	{[]string{nodes}, "capacity is taken as unlimited"},
	{[]string{podsElsewhere}, "what they use of the nodes is taken as free"},
	{[]string{quotas, limitRanges, namespaces}, "all pods are taken to be admitted"},
	{[]string{autoscalers, budgets}, "none are taken to be there"},
	{[]string{classes}, "pods are taken to be of equal priority"},
	{[]string{claims, persistentVolumes, storageClasses}, "volumes are taken to be reached from every node"},
	{[]string{events}, "what they would tell of the past is inferred"},
}

// Warnings say what the user may not read and what is assumed instead.
func (s *Snapshot) Warnings() []string {
	var out []string
	for _, a := range assumed {
		var missing []string
		for _, kind := range a.kinds {
			if s.denied[kind] {
				missing = append(missing, kind)
			}
		}
		if len(missing) > 0 {
			out = append(out, "cannot "+verbFor(missing)+" "+enumerated(missing)+": "+a.what)
		}
	}
	return out
}

func enumerated(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// verbFor is how kinds are asked for: a namespace is not listed.
func verbFor(kinds []string) string {
	if slices.Contains(kinds, namespaces) {
		return "read"
	}
	return "list"
}

// NodesKnown reports whether Nodes are all nodes there are.
func (s *Snapshot) NodesKnown() bool { return s.nodesAsked && !s.denied[nodes] }

// ClassesKnown reports whether Classes are all priority classes there are.
func (s *Snapshot) ClassesKnown() bool { return s.NodesKnown() && !s.denied[classes] }

// PodsKnown reports whether the ReplicaSets and pods of the workloads could be read.
func (s *Snapshot) PodsKnown() bool { return !s.denied[replicaSets] && !s.denied[pods] }

// SetsKnown reports whether ReplicaSets are all there are of the workloads.
func (s *Snapshot) SetsKnown() bool { return !s.denied[replicaSets] }

// Find is the Deployment or ReplicaSet of that name, nil when it is not there.
func (s *Snapshot) Find(ref trace.Ref) Object {
	for _, d := range s.Deployments {
		if ref == (trace.Ref{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name}) {
			return d
		}
	}
	for _, rs := range s.ReplicaSets {
		if ref == (trace.Ref{Kind: "ReplicaSet", Namespace: rs.Namespace, Name: rs.Name}) {
			return rs
		}
	}
	return nil
}

// Objects are all objects with their kinds set, the workloads first and each
// kind in order of namespace and name.
func (s *Snapshot) Objects() []Object {
	var out []Object
	out = appendKind(out, s.Deployments, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	out = appendKind(out, s.ReplicaSets, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	out = appendKind(out, s.Pods, corev1.SchemeGroupVersion.WithKind("Pod"))
	out = appendKind(out, s.Others, corev1.SchemeGroupVersion.WithKind("Pod"))
	out = appendKind(out, s.Nodes, corev1.SchemeGroupVersion.WithKind("Node"))
	out = appendKind(out, s.Quotas, corev1.SchemeGroupVersion.WithKind("ResourceQuota"))
	out = appendKind(out, s.LimitRanges, corev1.SchemeGroupVersion.WithKind("LimitRange"))
	out = appendKind(out, s.Autoscalers, autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"))
	out = appendKind(out, s.Budgets, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"))
	out = appendKind(out, s.Classes, schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"))
	out = appendKind(out, s.Namespaces, corev1.SchemeGroupVersion.WithKind("Namespace"))
	out = appendKind(out, s.Claims, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	out = appendKind(out, s.Volumes, corev1.SchemeGroupVersion.WithKind("PersistentVolume"))
	return appendKind(out, s.StorageClasses, storagev1.SchemeGroupVersion.WithKind("StorageClass"))
}

func appendKind[T Object](out []Object, objs []T, gvk schema.GroupVersionKind) []Object {
	slices.SortFunc(objs, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	for _, obj := range objs {
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		out = append(out, obj)
	}
	return out
}

// addMissingClasses makes up the priority classes that templates name where
// classes cannot be read, with the priority that the class's pods have.
func (s *Snapshot) addMissingClasses() {
	if s.ClassesKnown() {
		return
	}
	values := map[string]int32{}
	for _, d := range s.Deployments {
		values[d.Spec.Template.Spec.PriorityClassName] = 0
	}
	for _, rs := range s.ReplicaSets {
		values[rs.Spec.Template.Spec.PriorityClassName] = 0
	}
	for _, pod := range s.Pods {
		if pod.Spec.Priority != nil {
			values[pod.Spec.PriorityClassName] = *pod.Spec.Priority
		}
	}
	delete(values, "")
	for name, value := range values {
		if !strings.HasPrefix(name, "system-") {
			s.Classes = append(s.Classes, MakeClass(name, value))
		}
	}
}

// MakeClass is a priority class made up for one that cannot be read.
func MakeClass(name string, value int32) *schedulingv1.PriorityClass {
	class := &schedulingv1.PriorityClass{Value: value}
	class.Name = name
	class.SetGroupVersionKind(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"))
	return class
}
