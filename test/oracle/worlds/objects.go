package worlds

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

const namespace = "default"

func template(app, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry/app:" + image}}},
	}
}

func newDeployment(a action) *appsv1.Deployment {
	app, ok := a.get("app")
	if !ok {
		app = a.target[:min(60, len(a.target))]
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: a.target, Labels: map[string]string{"app": app}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			Template: template(app, "0"),
		},
	}
	configure(d, a)
	return d
}

// configure sets the fields that an action names.
func configure(d *appsv1.Deployment, a action) {
	for _, x := range a.args {
		n := int32(action{args: []arg{x}}.number(x.key))
		switch key, rest, _ := strings.Cut(x.key, "."); key {
		case "replicas":
			d.Spec.Replicas = &n
		case "image":
			d.Spec.Template.Spec.Containers[0].Image = "registry/app:" + x.value
		case "strategy":
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.DeploymentStrategyType(x.value)}
		case "minReady":
			d.Spec.MinReadySeconds = n
		case "deadline":
			d.Spec.ProgressDeadlineSeconds = &n
		case "history":
			d.Spec.RevisionHistoryLimit = &n
		case "paused":
			d.Spec.Paused = x.value == "true"
		case "annotation":
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, rest, x.value)
		case "label":
			metav1.SetMetaDataLabel(&d.ObjectMeta, rest, x.value)
		}
	}
	fences(d, a)
}

func fences(d *appsv1.Deployment, a action) {
	surge, ok := a.get("surge")
	if !ok || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return
	}
	unavailable, _ := a.get("unavailable")
	s, u := intstr.Parse(surge), intstr.Parse(unavailable)
	if strings.TrimSuffix(surge, "%") == "0" && strings.TrimSuffix(unavailable, "%") == "0" {
		u = intstr.FromInt32(1)
	}
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}
}

func newReplicaSet(a action) *appsv1.ReplicaSet {
	app, _ := a.get("app")
	image, _ := a.get("image")
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: a.target, Labels: map[string]string{"app": app}},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(a.number("replicas"))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Template: template(app, image),
		},
	}
}

func newPod(a action) *corev1.Pod {
	app, _ := a.get("app")
	image, _ := a.get("image")
	t := template(app, image)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: a.target, Labels: t.Labels}, Spec: t.Spec}
}

// collide takes the name that the Deployment's next ReplicaSet would have, and
// changes the Deployment to that template.
func (f *fate) collide(a action) {
	obj, ok := f.h.Stored().Get(sim.Deployments, namespace, a.target)
	if !ok {
		return
	}
	d := obj.DeepCopyObject().(*appsv1.Deployment)
	configure(d, action{args: a.args[:1]})
	hash := rollout.ComputeHash(&d.Spec.Template, d.Status.CollisionCount)
	rs := newReplicaSet(action{target: d.Name + "-" + hash, args: []arg{{"replicas", "1"}, {"app", "taken"}, {"image", "9"}}})
	if own, _ := a.get("own"); own != "" {
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, rollout.DeploymentKind)}
		rs.Labels = map[string]string{"app": d.Name}
	}
	f.create(rs)
	_, _ = f.h.Update(d)
}

// odd are the objects that can be there from the start.
var odd = []string{"selectall", "badstrategy", "badselector", "badreplicaset", "baddeployment", "badsurge", "badsibling", "foreign", "terminating"}

// loaded are objects that no API server would let in, or that were there before the controllers.
func loaded(what string) []sim.Object {
	d := newDeployment(action{target: what, args: []arg{{"replicas", "2"}}})
	d.Generation, d.UID = 3, types.UID(what+"-d")
	d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))}
	rs := newReplicaSet(action{target: what + "-set", args: []arg{{"replicas", "2"}, {"app", what}, {"image", "0"}}})
	rs.UID = types.UID(what + "-rs")
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Sometimes"}}}
	bad := intstr.FromString("many")
	switch what {
	case "selectall":
		d.Spec.Selector = &metav1.LabelSelector{}
	case "badstrategy":
		d.Spec.Strategy.Type = "Sideways"
	case "badselector":
		d.Spec.Selector = broken
	case "baddeployment":
		d.Spec.Strategy.RollingUpdate.MaxSurge = &bad
	case "badsurge": // as before, with a ReplicaSet that has the template already
		rs.Spec.Replicas = new(int32(1))
		d.Spec.Strategy.RollingUpdate.MaxSurge = &bad
		return []sim.Object{d, ownedBy(d, rs)}
	case "badsibling":
		rs.Spec.Selector = broken
		return []sim.Object{d, ownedBy(d, rs)}
	case "badreplicaset":
		rs.Spec.Selector = broken
		return []sim.Object{rs}
	case "foreign":
		rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Thing", Name: "it", UID: "thing", Controller: new(true)}}
		return []sim.Object{rs}
	case "terminating":
		return terminating(d, ownedBy(d, rs))
	}
	return []sim.Object{d}
}

func ownedBy(d *appsv1.Deployment, rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, rollout.DeploymentKind)}
	return rs
}

func terminating(d *appsv1.Deployment, rs *appsv1.ReplicaSet) []sim.Object {
	past := metav1.Date(1999, 12, 31, 0, 0, 0, 0, metav1.Now().Location())
	rs.DeletionTimestamp, rs.Finalizers = &past, []string{"test/hold"}
	pod := newPod(action{target: "terminating-pod", args: []arg{{"app", "terminating"}}})
	pod.UID, pod.DeletionTimestamp, pod.Finalizers = "terminating-pod", &past, []string{"test/hold"}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	pod.Spec.NodeName = "n1"
	return []sim.Object{d, rs, pod}
}
