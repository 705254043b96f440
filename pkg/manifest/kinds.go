package manifest

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// kind is one type of object that joins the world.
type kind struct {
	group, version, name string
	make                 func() Object
	cluster              bool     // without a namespace
	former               []string // other groups that served it in the past
	story                bool     // it tells of the past, and is read only when asked for
}

// Scheduling, quota and scaling kinds shape where and whether pods run; every
// other kind of a manifest has no part in a rollout and is ignored.
var kinds = []kind{
	{group: "apps", version: "v1", name: "Deployment", make: func() Object { return &appsv1.Deployment{} }, former: []string{"extensions"}},
	{group: "apps", version: "v1", name: "ReplicaSet", make: func() Object { return &appsv1.ReplicaSet{} }, former: []string{"extensions"}},
	{version: "v1", name: "Pod", make: func() Object { return &corev1.Pod{} }},
	{version: "v1", name: "Node", make: func() Object { return &corev1.Node{} }, cluster: true},
	{version: "v1", name: "Namespace", make: func() Object { return &corev1.Namespace{} }, cluster: true},
	{version: "v1", name: "ResourceQuota", make: func() Object { return &corev1.ResourceQuota{} }},
	{version: "v1", name: "LimitRange", make: func() Object { return &corev1.LimitRange{} }},
	{group: "autoscaling", version: "v2", name: "HorizontalPodAutoscaler", make: func() Object { return &autoscalingv2.HorizontalPodAutoscaler{} }},
	{group: "autoscaling", version: "v1", name: "HorizontalPodAutoscaler", make: func() Object { return &autoscalingv1.HorizontalPodAutoscaler{} }},
	{group: "policy", version: "v1", name: "PodDisruptionBudget", make: func() Object { return &policyv1.PodDisruptionBudget{} }},
	{group: "scheduling.k8s.io", version: "v1", name: "PriorityClass", make: func() Object { return &schedulingv1.PriorityClass{} }, cluster: true},
	{version: "v1", name: "PersistentVolumeClaim", make: func() Object { return &corev1.PersistentVolumeClaim{} }},
	{version: "v1", name: "PersistentVolume", make: func() Object { return &corev1.PersistentVolume{} }, cluster: true},
	{group: "storage.k8s.io", version: "v1", name: "StorageClass", make: func() Object { return &storagev1.StorageClass{} }, cluster: true},
	{group: "storage.k8s.io", version: "v1", name: "VolumeAttachment", make: func() Object { return &storagev1.VolumeAttachment{} }, cluster: true},
	{version: "v1", name: "Event", make: func() Object { return &corev1.Event{} }, story: true},
	{group: "rollout-sim.dev", version: "v1alpha1", name: "Scenario", make: func() Object { return &v1alpha1.Scenario{} }, cluster: true},
}

// lookup finds the type for a kind. When the group is one that serves the kind
// but the version is none of its versions, instead is the apiVersion to use.
func lookup(gvk schema.GroupVersionKind) (found *kind, instead string) {
	for i := range kinds {
		k := &kinds[i]
		if k.name != gvk.Kind {
			continue
		}
		if k.group == gvk.Group && k.version == gvk.Version {
			return k, ""
		}
		if instead == "" && (k.group == gvk.Group || slices.Contains(k.former, gvk.Group)) {
			instead = k.apiVersion()
		}
	}
	return nil, instead
}

func (k *kind) apiVersion() string {
	return schema.GroupVersion{Group: k.group, Version: k.version}.String()
}

func (k *kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.name}
}

func namespaced(obj Object) bool {
	k, _ := lookup(obj.GetObjectKind().GroupVersionKind())
	return k != nil && !k.cluster
}

// modern turns an object of an older version that is still served into the one
// the rest of the program knows.
func modern(obj Object) Object {
	old, ok := obj.(*autoscalingv1.HorizontalPodAutoscaler)
	if !ok {
		return obj
	}
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: old.ObjectMeta}
	out.SetGroupVersionKind(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"))
	out.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference(old.Spec.ScaleTargetRef)
	out.Spec.MinReplicas, out.Spec.MaxReplicas = old.Spec.MinReplicas, old.Spec.MaxReplicas
	if target := old.Spec.TargetCPUUtilizationPercentage; target != nil {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: target},
			},
		}}
	}
	return out
}
