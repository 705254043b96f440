package livetest

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout is a finished Deployment of that many pods with its ReplicaSet, as
// its controllers leave it: each pod was ready so long after it was bound.
type Rollout struct {
	Namespace, Name string
	Pods            int
	Created         time.Time
	ReadyAfter      []time.Duration // in turn; none means one second
	CPU             string
}

// Objects are the Deployment, its ReplicaSet and its pods, in this order.
func (r Rollout) Objects() []runtime.Object {
	replicas, whole, created := int32(r.Pods), int64(30), metav1.NewTime(r.Created)
	labels := map[string]string{"app": r.Name}
	quarter, limit, deadline := intstr.FromString("25%"), int32(10), int32(600)
	d := &appsv1.Deployment{ObjectMeta: r.meta(r.Name, "d", labels)}
	d.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	d.Spec = appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: &limit, ProgressDeadlineSeconds: &deadline,
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
			SecurityContext: &corev1.PodSecurityContext{}, TerminationGracePeriodSeconds: &whole,
			Containers: []corev1.Container{{Name: "app", Image: "app:1", ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePath: "/dev/termination-log",
				TerminationMessagePolicy: corev1.TerminationMessageReadFile, Resources: r.requests(),
				Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}, Args: []string{"--token=hunter2"}}},
		}}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.", LastUpdateTime: created, LastTransitionTime: created},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
				Message: fmt.Sprintf("ReplicaSet %q has successfully progressed.", r.Name+"-6d"), LastUpdateTime: created, LastTransitionTime: created},
		}}
	out := []runtime.Object{d, r.set(d)}
	for i := range r.Pods {
		out = append(out, r.pod(d, i))
	}
	return out
}

func (r Rollout) requests() corev1.ResourceRequirements {
	if r.CPU == "" {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(r.CPU)}}
}

func (r Rollout) meta(name, uid string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: r.Namespace, Name: name, UID: types.UID(r.Namespace + "-" + r.Name + "-" + uid), Labels: labels,
		Generation: 1, ResourceVersion: "7", CreationTimestamp: metav1.NewTime(r.Created)}
}

func controlledBy(kind string, owner metav1.Object) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}}
}

func (r Rollout) hashed() map[string]string {
	return map[string]string{"app": r.Name, "pod-template-hash": "6d"}
}

func (r Rollout) set(d *appsv1.Deployment) *appsv1.ReplicaSet {
	n := *d.Spec.Replicas
	rs := &appsv1.ReplicaSet{ObjectMeta: r.meta(r.Name+"-6d", "rs", r.hashed())}
	rs.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	rs.OwnerReferences = controlledBy("Deployment", d)
	rs.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/desired-replicas": fmt.Sprint(n),
		"deployment.kubernetes.io/max-replicas": fmt.Sprint(n + (n+3)/4)}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: r.hashed()}, Template: *d.Spec.Template.DeepCopy()}
	rs.Spec.Template.Labels = r.hashed()
	rs.Status = appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	return rs
}

func (r Rollout) pod(d *appsv1.Deployment, i int) *corev1.Pod {
	took := time.Second
	if len(r.ReadyAfter) > 0 {
		took = r.ReadyAfter[i%len(r.ReadyAfter)]
	}
	bound, ready := metav1.NewTime(r.Created), metav1.NewTime(r.Created.Add(took))
	rs := r.set(d)
	pod := &corev1.Pod{ObjectMeta: r.meta(fmt.Sprintf("%s-%04d", rs.Name, i), fmt.Sprint("p", i), r.hashed()), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	pod.OwnerReferences = controlledBy("ReplicaSet", rs)
	pod.Spec.NodeName = NodeName(i)
	condition := func(kind corev1.PodConditionType, at metav1.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at}
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &bound,
		Conditions:        []corev1.PodCondition{condition(corev1.PodScheduled, bound), condition(corev1.ContainersReady, ready), condition(corev1.PodReady, ready)},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Image: "app:1", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: bound}}}}}
	return pod
}

// nodes are how many nodes pods are spread over.
const nodes = 3

// NodeName is the node of a rollout's pod number i.
func NodeName(i int) string { return fmt.Sprintf("worker-%03d", i%nodes) }

// Nodes are n ready nodes with these resources, as in "4".
func Nodes(n int, cpu string) []runtime.Object {
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
	var out []runtime.Object
	for i := range n {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("worker-%03d", i), Labels: map[string]string{corev1.LabelHostname: fmt.Sprintf("worker-%03d", i)}}}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		node.Status = corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
		out = append(out, node)
	}
	return out
}

// ManagerLease is the lease of a kube-controller-manager that renewed it at a
// time, and will again within its minute.
func ManagerLease(renewed time.Time) runtime.Object {
	holder, seconds, at := "master-1_42", int32(60), metav1.NewMicroTime(renewed)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-controller-manager", ResourceVersion: "7"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &at},
	}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	return lease
}
