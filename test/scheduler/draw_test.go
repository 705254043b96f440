package scheduler

import (
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// resources are those that a world may hold, in the order in which they are made.
var resources = []string{
	sim.Namespaces, sim.Nodes, sim.StorageClasses, sim.PersistentVolumes, sim.PersistentVolumeClaims,
	sim.Services, sim.ReplicaSets, sim.DisruptionBudgs, sim.Pods,
}

// dice draw worlds: the same seed, the same world.
type dice struct {
	*rand.Rand
	nodes int
}

func newDice(seed uint64) *dice { return &dice{Rand: rand.New(rand.NewPCG(seed, 7))} }

func (d *dice) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d *dice, from ...T) T { return from[d.IntN(len(from))] }

var (
	spaces = []string{"red", "blue"}
	apps   = []string{"web", "db", "cache"}
	zones  = []string{"a", "b", "c"}
	disks  = []string{"ssd", "hdd"}
)

// world is everything but pods that wait.
func (d *dice) world() (out []sim.Object) {
	for _, name := range spaces {
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name, "team": name}}})
	}
	d.nodes = 3 + d.IntN(8)
	for i := range d.nodes {
		out = append(out, d.node(fmt.Sprintf("n%d", i)))
	}
	out = append(out, d.storage()...)
	for _, space := range spaces {
		for _, app := range apps {
			out = append(out, d.set(space, app))
		}
		if d.chance(40) {
			out = append(out, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "all"},
				Spec: corev1.ServiceSpec{Selector: map[string]string{"tier": "front"}}})
		}
		out = append(out, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "web"},
			Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(d.IntN(2))}})
	}
	for i := range d.IntN(4 * d.nodes) {
		pod := d.pod(fmt.Sprintf("old-%d", i))
		pod.Spec.NodeName = fmt.Sprintf("n%d", d.IntN(d.nodes))
		pod.Spec.Containers[0].Ports = nil // two on one node could not both be there
		pod.Status.Phase = corev1.PodRunning
		started := metav1.NewTime(metav1.Now().Truncate(1e9).Add(-1e9 * 60 * 60))
		pod.Status.StartTime = &started
		if d.chance(10) {
			pod.DeletionTimestamp, pod.Finalizers = &started, []string{"test/kept"}
		}
		out = append(out, pod)
	}
	return out
}

func (d *dice) set(space, app string) *appsv1.ReplicaSet {
	labels := map[string]string{"app": app}
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: app, UID: types.UID(space + "-" + app)}, Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}},
	}}
}

func (d *dice) node(name string) *corev1.Node {
	labels := map[string]string{}
	if d.chance(95) {
		labels[corev1.LabelHostname] = name
	}
	if d.chance(85) {
		labels[corev1.LabelTopologyZone] = pick(d, zones...)
	}
	if d.chance(60) {
		labels["disk"] = pick(d, disks...)
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(pick(d, "2", "4", "3500m")), corev1.ResourceMemory: resource.MustParse(pick(d, "4Gi", "8Gi")),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"), corev1.ResourcePods: resource.MustParse(pick(d, "4", "8", "110")),
	}
	if d.chance(30) {
		room["example.com/gpu"] = resource.MustParse("2")
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
	n.Spec.Unschedulable = d.chance(8)
	if d.chance(25) {
		effect := pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Value: pick(d, "x", "y"), Effect: effect})
	}
	if d.chance(30) {
		// An image has one size: the snapshot of a test does not say which of several counts.
		app := d.IntN(len(apps))
		n.Status.Images = []corev1.ContainerImage{{Names: []string{apps[app] + ":v1"}, SizeBytes: int64(100+300*app) << 20}}
	}
	return n
}

// storage is three claims a namespace: bound in one zone, bound to one node's
// label, and waiting for the first pod.
func (d *dice) storage() (out []sim.Object) {
	wait, name := storagev1.VolumeBindingWaitForFirstConsumer, "late"
	out = append(out, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: pick(d, "kubernetes.io/no-provisioner", "csi.example.com"),
		VolumeBindingMode: &wait, AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: zones[:2]}}}}})
	capacity := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	for _, space := range spaces {
		for _, kind := range []string{"zonal", "local", "late", "alone"} {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: kind, UID: types.UID(space + kind)}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: capacity}, StorageClassName: &name}}
			if kind == "alone" {
				claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			}
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: space + "-" + kind}, Spec: corev1.PersistentVolumeSpec{
				Capacity: capacity, AccessModes: claim.Spec.AccessModes, StorageClassName: name,
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: space + kind}}}}
			switch kind {
			case "zonal":
				pv.Labels = map[string]string{corev1.LabelTopologyZone: pick(d, "a", "b", "a__c")}
			case "local":
				pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: disks[:1]}}}}}}
			}
			if kind != "late" {
				claim.Spec.VolumeName, claim.Status.Phase = pv.Name, corev1.ClaimBound
				claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
				pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: space, Name: kind, UID: claim.UID}
				out = append(out, pv)
			}
			out = append(out, claim)
		}
	}
	return out
}
