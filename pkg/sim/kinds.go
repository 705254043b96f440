package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
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

	PersistentVolumes      = "persistentvolumes"
	PersistentVolumeClaims = "persistentvolumeclaims"
	StorageClasses         = "storageclasses"
	VolumeAttachments      = "volumeattachments"
)

// kind is what the server knows about one resource.
type kind struct {
	resource   string
	gvk        schema.GroupVersionKind
	namespaced bool
	// generation says that spec changes are counted in metadata.generation.
	generation bool
	copier

	place int    // in kinds
	key   string // group and resource: replicasets.apps
}

// copier makes objects of one type.
type copier struct {
	// clone copies the struct, not what it points to.
	clone func(Object) Object
	// fresh makes an empty one.
	fresh func() Object
}

// counts says whether the API server of a release counts specs of the kind.
func (k *kind) counts(v rollout.Version) bool {
	switch k.resource {
	case Pods:
		return v.PodGeneration()
	case Autoscalers:
		return v.AutoscalerGeneration()
	}
	return k.generation
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
	{resource: Deployments, gvk: apps.WithKind("Deployment"), namespaced: true, generation: true, copier: copierOf[appsv1.Deployment]()},
	{resource: ReplicaSets, gvk: apps.WithKind("ReplicaSet"), namespaced: true, generation: true, copier: copierOf[appsv1.ReplicaSet]()},
	{resource: Pods, gvk: core.WithKind("Pod"), namespaced: true, generation: true, copier: copierOf[corev1.Pod]()},
	{resource: Nodes, gvk: core.WithKind("Node"), copier: copierOf[corev1.Node]()},
	{resource: Namespaces, gvk: core.WithKind("Namespace"), copier: copierOf[corev1.Namespace]()},
	{resource: ResourceQuotas, gvk: core.WithKind("ResourceQuota"), namespaced: true, copier: copierOf[corev1.ResourceQuota]()},
	{resource: LimitRanges, gvk: core.WithKind("LimitRange"), namespaced: true, copier: copierOf[corev1.LimitRange]()},
	{resource: Services, gvk: core.WithKind("Service"), namespaced: true, copier: copierOf[corev1.Service]()},
	{resource: Autoscalers, gvk: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), namespaced: true, generation: true, copier: copierOf[autoscalingv2.HorizontalPodAutoscaler]()},
	{resource: DisruptionBudgs, gvk: policy.WithKind("PodDisruptionBudget"), namespaced: true, generation: true, copier: copierOf[policyv1.PodDisruptionBudget]()},
	{resource: PersistentVolumes, gvk: core.WithKind("PersistentVolume"), copier: copierOf[corev1.PersistentVolume]()},
	{resource: PersistentVolumeClaims, gvk: core.WithKind("PersistentVolumeClaim"), namespaced: true, copier: copierOf[corev1.PersistentVolumeClaim]()},
	{resource: StorageClasses, gvk: storagev1.SchemeGroupVersion.WithKind("StorageClass"), copier: copierOf[storagev1.StorageClass]()},
	{resource: VolumeAttachments, gvk: storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), copier: copierOf[storagev1.VolumeAttachment]()},
	{resource: PriorityClasses, gvk: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), generation: true, copier: copierOf[schedulingv1.PriorityClass]()},
}

var kindByResource, kindByName = indexKinds()

// The kinds that every rollout asks for, so that it needs no look-up.
var (
	pods        = kindByResource[Pods]
	replicaSets = kindByResource[ReplicaSets]
	deployments = kindByResource[Deployments]
)

// resourceKind is the kind of a resource; nil for one the server does not store.
func resourceKind(resource string) *kind {
	if resource == Pods {
		return pods
	}
	return kindByResource[resource]
}

func indexKinds() (byResource, byName map[string]*kind) {
	byResource, byName = map[string]*kind{}, map[string]*kind{}
	for i, k := range kinds {
		k.place, k.key = i, k.groupResource().String()
		byResource[k.resource], byName[k.gvk.Kind] = k, k
	}
	return byResource, byName
}

// kindOf is the kind of a typed object, nil for types the server does not store.
func kindOf(obj any) *kind {
	switch obj.(type) {
	case *corev1.Pod:
		return pods
	case *appsv1.ReplicaSet:
		return replicaSets
	case *appsv1.Deployment:
		return deployments
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
	case *corev1.PersistentVolume:
		return kindByResource[PersistentVolumes]
	case *corev1.PersistentVolumeClaim:
		return kindByResource[PersistentVolumeClaims]
	case *storagev1.StorageClass:
		return kindByResource[StorageClasses]
	case *storagev1.VolumeAttachment:
		return kindByResource[VolumeAttachments]
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

// GroupResource is a resource as the API's errors name it: replicasets.apps.
func GroupResource(resource string) schema.GroupResource {
	if k, ok := kindByResource[resource]; ok {
		return k.groupResource()
	}
	return schema.GroupResource{Resource: resource}
}

// Fresh is an empty object of the type of a stored one.
func Fresh(obj Object) Object { return kindOf(obj).fresh() }

// RefOf names a stored object in the trace.
func RefOf(obj Object) trace.Ref {
	r := trace.Ref{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if k := kindOf(obj); k != nil {
		r.Kind = k.gvk.Kind
	}
	return r
}
