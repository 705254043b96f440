package worlds

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// fate is the plugin that plays a script.
type fate struct {
	world   *world
	sim     *sim.World
	h       *sim.Hands
	actions []action
}

func (*fate) Name() string { return "fate" }

func (f *fate) Start(h *sim.Hands) {
	f.h = h
	for _, a := range f.actions {
		h.After(a.at, func() { f.play(a) })
	}
}

// play does what can be done; what the server refuses does not happen.
func (f *fate) play(a action) {
	switch a.verb {
	case "deployment":
		f.apply(newDeployment(a))
	case "set":
		f.set(a)
	case "replicaset":
		f.create(newReplicaSet(a))
	case "collide":
		f.collide(a)
	case "orphan":
		f.create(newPod(a))
	case "delete":
		f.delete(a)
	case "pod":
		f.mutatePod(a, f.pods()...)
	case "all":
		for i := range f.pods() {
			f.mutatePod(a, f.pods()[i])
		}
	case "kill":
		f.kill(a)
	case "relabel", "annotate", "free", "resize":
		f.edit(a)
	case "status":
		f.status(a)
	case "fault":
		f.fault(a)
	case "hold":
		resource, _ := a.get("resource")
		f.sim.DelayWatch(a.target, resource, a.at+a.duration("for"))
	case "kubelet", "watch", "load", "end": // the setting, see world.go and kubelet.go
	default:
		panic("no such verb: " + a.String())
	}
}

// calm takes the deadline of a Deployment that spins away.
func (f *fate) calm(name string) {
	f.h.After(0, func() { f.play(action{verb: "set", target: name, args: []arg{{"deadline", "2147483647"}}}) })
}

func (f *fate) apply(obj sim.Object) { _, _ = f.h.Hand().Apply(context.Background(), obj) }

func (f *fate) create(obj sim.Object) { _, _ = f.h.Create(obj) }

func (f *fate) pods() []sim.Object { return f.h.Stored().List(sim.Pods, "") }

// nth is an object of a list by a number that may go around.
func nth(list []sim.Object, index string) sim.Object {
	n := 0
	if _, err := fmt.Sscan(index, &n); err != nil || len(list) == 0 {
		return nil
	}
	return list[n%len(list)].DeepCopyObject().(sim.Object)
}

func (f *fate) set(a action) {
	obj, ok := f.h.Stored().Get(sim.Deployments, namespace, a.target)
	if !ok {
		f.apply(newDeployment(a))
		return
	}
	d := obj.DeepCopyObject().(*appsv1.Deployment)
	configure(d, a)
	_, _ = f.h.Update(d)
}

func (f *fate) delete(a action) {
	kind, name, _ := strings.Cut(a.target, "/")
	policy, _ := a.get("policy")
	if kind == "deployment" {
		_ = f.h.Hand().Delete(context.Background(), trace.Ref{Kind: "Deployment", Namespace: namespace, Name: name}, policy)
		return
	}
	if rs := nth(f.h.Stored().List(sim.ReplicaSets, ""), name); rs != nil {
		_ = f.h.Hand().Delete(context.Background(), sim.RefOf(rs), policy)
	}
}

// mutatePod sets phase, readiness, restarts and node of a pod, as a kubelet would.
func (f *fate) mutatePod(a action, pods ...sim.Object) {
	index := a.target
	if a.verb == "all" {
		index = "0"
	}
	obj := nth(pods, index)
	if obj == nil {
		return
	}
	pod := obj.(*corev1.Pod)
	if node, _ := a.get("node"); node != "" && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		if bound, err := f.h.Bind(pod, node); err == nil {
			pod = bound.DeepCopy()
		}
	}
	phase, _ := a.get("phase")
	ready, _ := a.get("ready")
	setStatus(pod, corev1.PodPhase(phase), corev1.ConditionStatus(ready), f.h.Now())
	if n := a.number("restarts"); n > 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: int32(n)}}
	}
	_, _ = f.h.UpdateStatus(pod)
}

func setStatus(pod *corev1.Pod, phase corev1.PodPhase, ready corev1.ConditionStatus, now time.Time) {
	pod.Status.Phase = phase
	if ready == "" {
		ready = corev1.ConditionFalse
	}
	c := corev1.PodCondition{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(now)}
	for i, have := range pod.Status.Conditions {
		if have.Type == corev1.PodReady {
			if have.Status != ready {
				pod.Status.Conditions[i] = c
			}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}

func (f *fate) kill(a action) {
	obj := nth(f.pods(), a.target)
	if obj == nil {
		return
	}
	opts := metav1.DeleteOptions{}
	if _, ok := a.get("grace"); ok {
		opts.GracePeriodSeconds = new(int64(a.number("grace")))
	}
	_ = f.h.Delete(sim.Pods, namespace, obj.GetName(), opts)
}

// edit changes an object's metadata, or a ReplicaSet's size.
func (f *fate) edit(a action) {
	kind, index, slash := strings.Cut(a.target, "/")
	list := f.h.Stored().List(sim.ReplicaSets, "")
	if !slash {
		index = a.target
	} else if kind == "pod" {
		list = f.pods()
	}
	obj := nth(list, index)
	if obj == nil {
		return
	}
	switch a.verb {
	case "relabel":
		relabel(obj, a)
	case "annotate":
		annotate(obj, a)
	case "free":
		obj.SetOwnerReferences(nil)
		if kind, ok := a.get("to"); ok {
			obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: "it", UID: "thing", Controller: new(true)}})
		}
	case "resize":
		resize(obj.(*appsv1.ReplicaSet), a)
	}
	_, _ = f.h.Update(obj)
}

func relabel(obj sim.Object, a action) {
	labels := map[string]string{}
	app, _ := a.get("app")
	if app == "none" {
		obj.SetLabels(nil)
		return
	}
	labels["app"] = app
	if keep, _ := a.get("hash"); keep == "keep" {
		if hash, ok := obj.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]; ok {
			labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
		}
	}
	obj.SetLabels(labels)
}

func annotate(obj sim.Object, a action) {
	annotations := map[string]string{}
	for k, v := range obj.GetAnnotations() {
		annotations[k] = v
	}
	for _, x := range a.args {
		if annotations[x.key] = x.value; x.value == "-" {
			delete(annotations, x.key)
		}
	}
	obj.SetAnnotations(annotations)
}

func resize(rs *appsv1.ReplicaSet, a action) {
	if _, ok := a.get("replicas"); ok {
		rs.Spec.Replicas = new(int32(a.number("replicas")))
	}
	if _, ok := a.get("minReady"); ok {
		rs.Spec.MinReadySeconds = int32(a.number("minReady"))
	}
}

// status writes into a ReplicaSet's status what somebody else may: a condition of
// another type, and no count of terminating pods, as older releases leave it.
func (f *fate) status(a action) {
	obj := nth(f.h.Stored().List(sim.ReplicaSets, ""), a.target)
	if obj == nil {
		return
	}
	rs := obj.(*appsv1.ReplicaSet)
	if kind, ok := a.get("condition"); ok {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetConditionType(kind), Status: corev1.ConditionTrue})
	}
	if _, ok := a.get("terminating"); ok {
		rs.Status.TerminatingReplicas = nil
	}
	_, _ = f.h.UpdateStatus(rs)
}

func (f *fate) fault(a action) {
	x := &fault{verb: a.target, skip: a.number("skip"), times: a.number("times")}
	x.resource, _ = a.get("resource")
	x.sub, _ = a.get("sub")
	x.kind, _ = a.get("kind")
	f.world.faults.add(x)
}
