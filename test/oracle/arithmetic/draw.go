package arithmetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// draw makes objects of the sort the functions must cope with: small values
// that collide often, and the odd extreme or broken one.
type draw struct {
	*rand.Rand
	now time.Time
}

func (r draw) chance(percent int) bool { return r.IntN(100) < percent }

func pick[T any](r draw, from ...T) T { return from[r.IntN(len(from))] }

// count is a number of pods.
func (r draw) count() int32 {
	switch {
	case r.chance(85):
		return int32(r.IntN(13))
	case r.chance(80):
		return int32(r.IntN(3000))
	}
	return r.Int32N(math.MaxInt32)
}

// limit is a maxSurge or maxUnavailable; a bad one is refused by validation.
func (r draw) limit() *intstr.IntOrString {
	var v intstr.IntOrString
	switch n := r.IntN(20); {
	case n < 7:
		v = intstr.FromInt32(r.count())
	case n < 18:
		v = intstr.FromString(strconv.Itoa(r.IntN(131)) + "%")
	case n < 19:
		v = intstr.FromString(pick(r, "", "%", "3", "-5%", "x%", "1.5%"))
	default:
		return nil
	}
	return &v
}

// second is a time of whole seconds near now, often the same one, sometimes none.
func (r draw) second() metav1.Time {
	switch {
	case r.chance(4):
		return metav1.Time{}
	case r.chance(60):
		return metav1.NewTime(r.now.Add(-time.Duration(r.IntN(5)) * time.Second).Truncate(time.Second))
	}
	return metav1.NewTime(r.now.Add(time.Duration(r.IntN(400_000)-390_000) * time.Second).Truncate(time.Second))
}

func (r draw) annotations() map[string]string {
	if r.chance(8) {
		return nil
	}
	a := map[string]string{}
	put := func(percent int, key string, values ...string) {
		if r.chance(percent) {
			a[key] = pick(r, values...)
		}
	}
	number := func() string { return strconv.Itoa(int(r.count())) }
	put(70, rollout.RevisionAnnotation, number(), number(), "1", "2", "", "x", "-3", "99999999999999999999")
	put(30, rollout.RevisionHistoryAnnotation, "1", "1,3", "", "7,8,9", r.history())
	put(70, rollout.DesiredReplicasAnnotation, number(), number(), "3", "5", "", "-2", "x", "+4", "3000000000")
	put(70, rollout.MaxReplicasAnnotation, number(), number(), "4", "0", "", "-2", "x", "3000000000")
	put(10, corev1.LastAppliedConfigAnnotation, "{}", "{\"a\":1}")
	put(10, appsv1.DeprecatedRollbackTo, "0", "2", "", "x", "-1", "9223372036854775808")
	put(30, "team", "a", "b", "")
	put(30, "kubernetes.io/change-cause", "a", "b")
	return a
}

// history is a list of revisions near the length where it is cut.
func (r draw) history() string {
	if r.chance(95) {
		return "4"
	}
	var list []string
	for range 380 + r.IntN(60) {
		list = append(list, strconv.Itoa(1000+r.IntN(9000)))
	}
	return strings.Join(list, ",")
}

// template comes from a small family, so that equal ones are found and found again.
func (r draw) template() corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{}
	t.Labels = pick(r, nil, map[string]string{}, map[string]string{"app": "a"}, map[string]string{"app": "a"}, map[string]string{"app": "b"})
	if r.chance(50) && t.Labels != nil {
		t.Labels = map[string]string{"app": t.Labels["app"], appsv1.DefaultDeploymentUniqueLabelKey: pick(r, "h1", "h2", "")}
	}
	if r.chance(30) {
		t.Annotations = pick(r, map[string]string{}, map[string]string{"a": "1"})
	}
	if r.chance(10) {
		t.Finalizers = pick(r, []string{}, []string{"x/y"})
	}
	c := corev1.Container{Name: "c", Image: pick(r, "i:1", "i:2")}
	if r.chance(30) {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(pick(r, "1", "1000m", "1.0", "2"))}
	}
	if r.chance(30) {
		c.Env = pick(r, []corev1.EnvVar{}, []corev1.EnvVar{{Name: "E", Value: "1"}})
	}
	t.Spec.Containers = []corev1.Container{c}
	return t
}

func (r draw) deploymentConditions() []appsv1.DeploymentCondition {
	var out []appsv1.DeploymentCondition
	for _, kind := range []appsv1.DeploymentConditionType{appsv1.DeploymentProgressing, appsv1.DeploymentAvailable, appsv1.DeploymentReplicaFailure, appsv1.DeploymentProgressing} {
		if r.chance(55) {
			out = append(out, r.deploymentCondition(kind))
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (r draw) deploymentCondition(kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	return appsv1.DeploymentCondition{
		Type: kind, Status: pick(r, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
		Reason: pick(r, rollout.ReasonNewReplicaSetAvailable, rollout.ReasonReplicaSetUpdated, rollout.ReasonProgressDeadlineExceeded,
			rollout.ReasonMinimumReplicasAvailable, rollout.ReasonMinimumReplicasUnavailable, rollout.ReasonDeploymentPaused, "x"),
		Message: pick(r, "m", "n"), LastUpdateTime: r.second(), LastTransitionTime: r.second(),
	}
}

func (r draw) deployment() *appsv1.Deployment {
	n := r.count()
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: pick(r, "web", "w.x"), Namespace: "default", UID: "d", Generation: int64(r.IntN(4)), Annotations: r.annotations(),
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Template: r.template(), MinReadySeconds: int32(r.IntN(3)), Paused: r.chance(20),
			ProgressDeadlineSeconds: pick(r, nil, new(int32(math.MaxInt32)), new(int32(600)), new(int32(1)), new(int32(r.IntN(5)))),
			Strategy: appsv1.DeploymentStrategy{
				Type:          pick(r, appsv1.RollingUpdateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType, appsv1.RecreateDeploymentStrategyType, ""),
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: r.limit(), MaxUnavailable: r.limit()},
			},
		},
		Status: r.deploymentStatus(),
	}
	return d
}

func (r draw) deploymentStatus() appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{
		ObservedGeneration: int64(r.IntN(4)), Replicas: r.count(), UpdatedReplicas: r.count(), ReadyReplicas: r.count(),
		AvailableReplicas: r.count(), UnavailableReplicas: r.count(), Conditions: r.deploymentConditions(),
		CollisionCount: pick(r, nil, new(int32(0)), new(int32(7))), TerminatingReplicas: pick(r, nil, new(int32(0)), new(int32(2))),
	}
}

// sets are ReplicaSets with distinct names, some of them with the template of d.
func (r draw) sets(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	out := make([]*appsv1.ReplicaSet, r.IntN(7))
	for i, id := range r.Perm(len(out)) {
		n := r.count()
		out[i] = &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("web-%d", id), Namespace: "default", UID: types.UID(fmt.Sprintf("u%d", id)), CreationTimestamp: r.second(),
				Annotations: r.annotations(), Generation: int64(r.IntN(3)),
			},
			Spec:   appsv1.ReplicaSetSpec{Replicas: &n, Template: r.template(), MinReadySeconds: int32(r.IntN(20))},
			Status: r.replicaSetStatus(),
		}
		if r.chance(20) {
			out[i].Spec.Template = *d.Spec.Template.DeepCopy()
		}
		if r.chance(5) {
			now := r.second()
			out[i].DeletionTimestamp = &now
		}
	}
	return out
}

func (r draw) replicaSetStatus() appsv1.ReplicaSetStatus {
	s := appsv1.ReplicaSetStatus{
		Replicas: r.count(), FullyLabeledReplicas: r.count(), ReadyReplicas: r.count(), AvailableReplicas: r.count(),
		ObservedGeneration: int64(r.IntN(3)), TerminatingReplicas: pick(r, nil, new(int32(0)), new(int32(3))),
	}
	for _, kind := range []appsv1.ReplicaSetConditionType{appsv1.ReplicaSetReplicaFailure, "Other"} {
		if r.chance(30) {
			s.Conditions = append(s.Conditions, r.replicaSetCondition(kind))
		}
	}
	return s
}

func (r draw) replicaSetCondition(kind appsv1.ReplicaSetConditionType) appsv1.ReplicaSetCondition {
	return appsv1.ReplicaSetCondition{
		Type: kind, Status: pick(r, corev1.ConditionTrue, corev1.ConditionFalse), Reason: pick(r, "FailedCreate", "FailedDelete", ""),
		Message: pick(r, "m", "n"), LastTransitionTime: r.second(),
	}
}

// pods are named apart; their UIDs may share a long beginning.
func (r draw) pods() []*corev1.Pod {
	out := make([]*corev1.Pod, r.IntN(pick(r, 6, 14, 40)))
	for i, id := range r.Perm(len(out)) {
		out[i] = r.pod(id)
	}
	return out
}

func (r draw) pod(id int) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("p%d", id), Namespace: "default", CreationTimestamp: r.second(),
			UID:    types.UID(fmt.Sprintf("%s%d", pick(r, "", "abcdefgh", "abcdefgh-"), id)),
			Labels: pick(r, nil, map[string]string{"app": "a"}, map[string]string{"app": "a", "x": ""}, map[string]string{"app": "b"}),
		},
		Spec: corev1.PodSpec{NodeName: pick(r, "", "n1", "n2", "n3"), InitContainers: r.initContainers()},
		Status: corev1.PodStatus{
			Phase:             pick(r, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodUnknown, "", corev1.PodFailed, corev1.PodSucceeded),
			ContainerStatuses: r.restarts("c", "d"), InitContainerStatuses: r.restarts("i", "s"),
		},
	}
	if r.chance(15) {
		p.Annotations = map[string]string{corev1.PodDeletionCost: pick(r, "1", "-5", "+1", "01", "x", "", "0", "2147483648", "2147483647")}
	}
	if r.chance(85) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: pick(r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse), LastTransitionTime: r.second(),
		})
	}
	if r.chance(10) {
		at := r.second()
		p.DeletionTimestamp = &at
	}
	return p
}

func (r draw) initContainers() []corev1.Container {
	if r.chance(70) {
		return nil
	}
	always := corev1.ContainerRestartPolicyAlways
	return []corev1.Container{{Name: "i"}, {Name: "s", RestartPolicy: &always}}
}

func (r draw) restarts(names ...string) []corev1.ContainerStatus {
	if r.chance(70) {
		return nil
	}
	var out []corev1.ContainerStatus
	for _, name := range names {
		out = append(out, corev1.ContainerStatus{Name: name, RestartCount: int32(r.IntN(3))})
	}
	return out
}
