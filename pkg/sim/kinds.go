package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The resources the simulated API server knows, by their plural names.
const (
	Deployments     = "deployments"
	ReplicaSets     = "replicasets"
	Pods            = "pods"
	Nodes           = "nodes"
	Namespaces      = "namespaces"
	ResourceQuotas  = "resourcequotas"
	LimitRanges     = "limitranges"
	Autoscalers     = "horizontalpodautoscalers"
	DisruptionBudgs = "poddisruptionbudgets"
	PriorityClasses = "priorityclasses"
	Services        = "services"
)

// kind is what the server knows about one resource.
type kind struct {
	resource   string
	gvk        schema.GroupVersionKind
	namespaced bool
	// generation says that spec changes are counted in metadata.generation.
	generation bool
	copier
}

// copier makes objects of one type.
type copier struct {
	// clone copies the struct, not what it points to.
	clone func(Object) Object
	// fresh makes an empty one.
	fresh func() Object
}

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.gvk.Group, Resource: k.resource}
}

func copierOf[T any, P interface {
	*T
	Object
}]() copier {
	return copier{
		clone: func(o Object) Object {
			c := *o.(P)
			return P(&c)
		},
		fresh: func() Object { return P(new(T)) },
	}
}

var (
	apps   = appsv1.SchemeGroupVersion
	core   = corev1.SchemeGroupVersion
	policy = policyv1.SchemeGroupVersion
)

var kinds = []*kind{
	{Deployments, apps.WithKind("Deployment"), true, true, copierOf[appsv1.Deployment]()},
	{ReplicaSets, apps.WithKind("ReplicaSet"), true, true, copierOf[appsv1.ReplicaSet]()},
	{Pods, core.WithKind("Pod"), true, true, copierOf[corev1.Pod]()},
	{Nodes, core.WithKind("Node"), false, false, copierOf[corev1.Node]()},
	{Namespaces, core.WithKind("Namespace"), false, false, copierOf[corev1.Namespace]()},
	{ResourceQuotas, core.WithKind("ResourceQuota"), true, false, copierOf[corev1.ResourceQuota]()},
	{LimitRanges, core.WithKind("LimitRange"), true, false, copierOf[corev1.LimitRange]()},
	{Services, core.WithKind("Service"), true, false, copierOf[corev1.Service]()},
	{Autoscalers, autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), true, true, copierOf[autoscalingv2.HorizontalPodAutoscaler]()},
	{DisruptionBudgs, policy.WithKind("PodDisruptionBudget"), true, true, copierOf[policyv1.PodDisruptionBudget]()},
	{PriorityClasses, schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), false, true, copierOf[schedulingv1.PriorityClass]()},
}

var kindByResource, kindByName = indexKinds()

func indexKinds() (byResource, byName map[string]*kind) {
	byResource, byName = map[string]*kind{}, map[string]*kind{}
	for _, k := range kinds {
		byResource[k.resource], byName[k.gvk.Kind] = k, k
	}
	return byResource, byName
}

// kindOf is the kind of a typed object, nil for types the server does not store.
func kindOf(obj any) *kind {
	switch obj.(type) {
	case *corev1.Pod:
		return kindByResource[Pods]
	case *appsv1.ReplicaSet:
		return kindByResource[ReplicaSets]
	case *appsv1.Deployment:
		return kindByResource[Deployments]
	case *corev1.Node:
		return kindByResource[Nodes]
	case *corev1.Namespace:
		return kindByResource[Namespaces]
	case *corev1.ResourceQuota:
		return kindByResource[ResourceQuotas]
	case *corev1.LimitRange:
		return kindByResource[LimitRanges]
	case *corev1.Service:
		return kindByResource[Services]
	case *autoscalingv2.HorizontalPodAutoscaler:
		return kindByResource[Autoscalers]
	case *policyv1.PodDisruptionBudget:
		return kindByResource[DisruptionBudgs]
	case *schedulingv1.PriorityClass:
		return kindByResource[PriorityClasses]
	}
	return nil
}

// Resource is the plural name under which objects of a kind ("Deployment") are stored.
func Resource(kindName string) (string, bool) {
	k, ok := kindByName[kindName]
	if !ok {
		return "", false
	}
	return k.resource, true
}

// RefOf names a stored object in the trace.
func RefOf(obj Object) trace.Ref {
	r := trace.Ref{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if k := kindOf(obj); k != nil {
		r.Kind = k.gvk.Kind
	}
	return r
}
