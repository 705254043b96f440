package deployment

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// The stories reproduce what upstream's v1.37.2 controller writes. A story
// moves by hand: what a person, the ReplicaSet controller or a kubelet would do
// is a command, and so is each delivery of a watch event.
//
//	new [version=N]                an empty world, which a file begins with; 37 unless told
//	deployment k=v…                makes the Deployment web
//	edit k=v…                      changes it
//	status set=REVISION k=v…       what the ReplicaSet controller publishes
//	set name=N k=v…                makes a ReplicaSet by hand; owned for one of web
//	change set=NAME|REVISION k=v…  changes its label app
//	pod name=N set=REVISION phase=P, or pod name=N gone
//	fail verb=V path=P with=forbidden|terminating|conflict
//	deliver [kind=K]               the next event (of a kind), or all there are and that follow
//	advance by=D                   moves the clock
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld(rollout.LatestVersion)
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			w.out.Reset()
			if td.Cmd == "new" {
				w = newWorld(rollout.Version(number32(t, td, "version", int32(rollout.LatestVersion))))
			} else {
				perform(t, w, td)
			}
			if w.out.Len() == 0 {
				return "ok\n"
			}
			return w.out.String()
		})
	})
}

func perform(t *testing.T, w *world, td *datadriven.TestData) {
	switch td.Cmd {
	case "deployment":
		w.create(newDeployment(t, td))
	case "edit":
		edit(t, w, td)
	case "status":
		publish(t, w, td)
	case "set":
		makeSet(t, w, td)
	case "change":
		changeSet(t, w, td)
	case "pod":
		changePod(t, w, td)
	case "fail":
		w.fail[text(td, "verb", "")+" "+text(td, "path", "")] = failure(text(td, "with", ""))
	case "deliver":
		if kind := text(td, "kind", ""); kind != "" {
			if !w.deliver(kind) {
				t.Fatalf("%s: no event of a %s waits", td.Pos, kind)
			}
			return
		}
		for w.deliver("") {
		}
	case "advance":
		by, err := time.ParseDuration(text(td, "by", ""))
		if err != nil {
			t.Fatal(err)
		}
		w.advance(by)
	default:
		t.Fatalf("%s: unknown command %s", td.Pos, td.Cmd)
	}
}

func newDeployment(t *testing.T, td *datadriven.TestData) *appsv1.Deployment {
	limit := func(key, otherwise string) *intstr.IntOrString {
		v := intstr.Parse(text(td, key, otherwise))
		return &v
	}
	replicas, history, deadline := int32(1), number32(t, td, "limit", 10), number32(t, td, "deadline", 600)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	d.Spec = appsv1.DeploymentSpec{
		Replicas:                &replicas,
		Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		RevisionHistoryLimit:    &history,
		ProgressDeadlineSeconds: &deadline,
		Strategy:                appsv1.DeploymentStrategy{Type: appsv1.DeploymentStrategyType(text(td, "strategy", "RollingUpdate"))},
		Template:                template("web", "v1"),
	}
	if d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: limit("surge", "25%"), MaxUnavailable: limit("unavailable", "25%")}
	}
	if td.HasArg("selectall") {
		d.Spec.Selector = &metav1.LabelSelector{}
	}
	applyEdit(t, td, d)
	return d
}

func template(app, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
}

func edit(t *testing.T, w *world, td *datadriven.TestData) {
	old := w.stored.get("Deployment", "default", "web").(*appsv1.Deployment)
	d := old.DeepCopy()
	applyEdit(t, td, d)
	d = w.withGeneration(old, d)
	if td.HasArg("delete") {
		now := metav1.NewTime(w.clock.Now())
		d.DeletionTimestamp = &now
		d.Generation++
	}
	w.store(engine.Modified, d)
}

func applyEdit(t *testing.T, td *datadriven.TestData, d *appsv1.Deployment) {
	d.Spec.Template.Spec.Containers[0].Image = text(td, "image", d.Spec.Template.Spec.Containers[0].Image)
	*d.Spec.Replicas = number32(t, td, "replicas", *d.Spec.Replicas)
	d.Spec.MinReadySeconds = number32(t, td, "minready", d.Spec.MinReadySeconds)
	d.Spec.Paused = text(td, "paused", strconv.FormatBool(d.Spec.Paused)) == "true"
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	if td.HasArg("team") {
		d.Annotations["team"] = text(td, "team", "")
	}
	if td.HasArg("rollback") {
		d.Annotations[appsv1.DeprecatedRollbackTo] = text(td, "rollback", "")
	}
}

// findSet is the ReplicaSet of a name or of a revision.
func findSet(t *testing.T, w *world, which string) *appsv1.ReplicaSet {
	for _, rs := range list(&w.stored, func(rs *appsv1.ReplicaSet) bool {
		return rs.Name == which || rs.Annotations[rollout.RevisionAnnotation] == which
	}) {
		return rs.DeepCopy()
	}
	t.Fatalf("no ReplicaSet %s", which)
	return nil
}

func publish(t *testing.T, w *world, td *datadriven.TestData) {
	rs := findSet(t, w, text(td, "set", ""))
	s := &rs.Status
	s.ObservedGeneration = rs.Generation
	s.Replicas = number32(t, td, "replicas", s.Replicas)
	s.ReadyReplicas = number32(t, td, "ready", s.ReadyReplicas)
	s.AvailableReplicas = number32(t, td, "available", s.ReadyReplicas)
	terminating := number32(t, td, "terminating", 0)
	s.TerminatingReplicas = &terminating
	s.Conditions = nil
	if td.HasArg("failure") {
		s.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
			Reason: "FailedCreate", Message: text(td, "failure", ""), LastTransitionTime: metav1.NewTime(w.clock.Now())}}
	}
	w.store(engine.Modified, rs)
}

func makeSet(t *testing.T, w *world, td *datadriven.TestData) {
	replicas := number32(t, td, "replicas", 0)
	labels := map[string]string{"app": text(td, "app", "web")}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: text(td, "name", ""), Namespace: "default", Labels: labels}}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("web", text(td, "image", "v0"))}
	if td.HasArg("desired") {
		rs.Annotations = map[string]string{rollout.DesiredReplicasAnnotation: text(td, "desired", "")}
	}
	if td.HasArg("revision") {
		metav1.SetMetaDataAnnotation(&rs.ObjectMeta, rollout.RevisionAnnotation, text(td, "revision", ""))
	}
	if td.HasArg("owned") {
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.stored.get("Deployment", "default", "web"), rollout.DeploymentKind)}
	}
	w.create(rs)
}

func changeSet(t *testing.T, w *world, td *datadriven.TestData) {
	rs := findSet(t, w, text(td, "set", ""))
	rs.Labels["app"] = text(td, "app", rs.Labels["app"])
	w.store(engine.Modified, rs)
}

func changePod(t *testing.T, w *world, td *datadriven.TestData) {
	name := text(td, "name", "")
	old := w.stored.get("Pod", "default", name)
	if td.HasArg("gone") {
		w.store(engine.Deleted, old)
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	pod.Status.Phase = corev1.PodPhase(text(td, "phase", "Running"))
	rs := findSet(t, w, text(td, "set", ""))
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	if old == nil {
		w.create(pod)
		return
	}
	pod.ObjectMeta = old.(*corev1.Pod).ObjectMeta
	w.store(engine.Modified, pod)
}

func failure(with string) error {
	sets := schema.GroupResource{Group: "apps", Resource: "replicasets"}
	switch with {
	case "terminating":
		err := apierrors.NewForbidden(sets, "", fmt.Errorf("the namespace is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return err
	case "conflict":
		return apierrors.NewConflict(sets, "", fmt.Errorf("someone else wrote it"))
	}
	return apierrors.NewForbidden(sets, "", fmt.Errorf("exceeded quota"))
}

func text(td *datadriven.TestData, key, otherwise string) string {
	for _, arg := range td.CmdArgs {
		if arg.Key == key && len(arg.Vals) > 0 {
			return arg.Vals[0]
		}
	}
	return otherwise
}

func number32(t *testing.T, td *datadriven.TestData, key string, otherwise int32) int32 {
	n, err := strconv.ParseInt(text(td, key, strconv.Itoa(int(otherwise))), 10, 32)
	if err != nil {
		t.Fatalf("%s: %s: %v", td.Pos, key, err)
	}
	return int32(n)
}
