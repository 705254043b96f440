package live

import (
	"encoding/json"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The field managers of a control plane, and of our own engine where it drives.
const (
	controllerManager = "kube-controller-manager"
	schedulerManager  = "kube-scheduler"
	engineManager     = "kubectl-rollout_sim"
)

// Actors that only a real cluster has.
const (
	actorAutoscaler = "hpa"
	actorNodes      = "nodelifecycle"
	actorCollector  = "garbagecollector"
	actorSomeone    = "someone" // deletions do not say whose they are
)

// writer is the field manager behind the difference between two versions of an
// object, and the subresource it wrote to; empty when the record does not tell.
// Of several it is the last one, of the part of the object that changed.
func writer(obj, old Object, status bool) (manager, subresource string) {
	var last metav1.ManagedFieldsEntry
	for _, entry := range obj.GetManagedFields() {
		if old != nil && recorded(old, entry) || (entry.Subresource == "status") != status {
			continue
		}
		if last.Manager == "" || last.Time.Before(entry.Time) {
			last = entry
		}
	}
	return last.Manager, last.Subresource
}

// sizer is the field manager that has sized a ReplicaSet since an older version,
// where the record tells of fields, or else its last writer: between two
// versions that a gap lies between there may be several.
func sizer(rs, old Object) string {
	manager, _ := writer(rs, old, false)
	var last *metav1.Time
	for _, entry := range rs.GetManagedFields() {
		if old != nil && recorded(old, entry) || !ownsSize(entry) || last != nil && entry.Time.Before(last) {
			continue
		}
		manager, last = entry.Manager, entry.Time
	}
	return manager
}

// ownsSize reports whether a manager has set spec.replicas, in the format of
// metav1.FieldsV1.
func ownsSize(entry metav1.ManagedFieldsEntry) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)
	return err == nil && fields.Spec["f:replicas"] != nil
}

func recorded(obj Object, entry metav1.ManagedFieldsEntry) bool {
	for _, known := range obj.GetManagedFields() {
		if reflect.DeepEqual(known, entry) {
			return true
		}
	}
	return false
}

// handOf is who changed the part of a workload that people write.
func handOf(obj, old Object) string {
	switch manager, subresource := writer(obj, old, false); {
	case manager == controllerManager && subresource == "scale":
		return actorAutoscaler
	case manager == "":
		return actorSomeone
	default:
		return manager
	}
}

// controllerOf is who changed a ReplicaSet that belongs to a Deployment, or the
// controllers' part of a workload: a controller unless the record names another.
func controllerOf(obj, old Object, usual string) string {
	manager, _ := writer(obj, old, false)
	return orUsual(manager, usual)
}

// sizerOf is the same of a ReplicaSet whose size has changed.
func sizerOf(rs, old Object) string { return orUsual(sizer(rs, old), trace.ActorDeployment) }

func orUsual(manager, usual string) string {
	if manager == "" || runsControllers(manager) {
		return usual
	}
	return manager
}

func runsControllers(manager string) bool {
	return manager == controllerManager || strings.HasPrefix(manager, engineManager)
}

// podWriter is who changed a pod. What runs nodes writes its status, be it a
// kubelet or what stands in for one.
func podWriter(pod, old *corev1.Pod) string {
	var was Object
	if old != nil {
		was = old
	}
	status := old != nil && !reflect.DeepEqual(pod.Status, old.Status)
	switch manager, _ := writer(pod, was, status); {
	case manager == schedulerManager:
		return trace.ActorScheduler
	case status && manager != controllerManager:
		return trace.ActorKubelet
	case manager == controllerManager && old != nil:
		return actorNodes
	case old == nil && (manager == "" || runsControllers(manager)):
		return trace.ActorReplicaSet
	case manager == "":
		return trace.ActorKubelet
	default:
		return manager
	}
}

// sameSpec says that two versions of a ReplicaSet differ in nothing but their
// status.
func sameSpec(rs, old *appsv1.ReplicaSet) bool {
	return old != nil && rs.Generation == old.Generation && reflect.DeepEqual(rs.Annotations, old.Annotations)
}

// components are the actors that speak through Kubernetes Events.
var components = map[string]string{
	"deployment-controller": trace.ActorDeployment, "replicaset-controller": trace.ActorReplicaSet,
	"default-scheduler": trace.ActorScheduler, "kubelet": trace.ActorKubelet,
	"horizontal-pod-autoscaler": actorAutoscaler, "taint-eviction-controller": actorTaints, "node-controller": actorNodes,
}

func speaker(e *corev1.Event) string {
	component := e.Source.Component
	if component == "" {
		component = e.ReportingController
	}
	if actor, ok := components[component]; ok {
		return actor
	}
	if component == "" {
		return actorSomeone
	}
	return component
}
