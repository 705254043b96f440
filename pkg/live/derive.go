package live

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// ownedSets lists the ReplicaSets a Deployment controls.
type ownedSets func(owner types.UID) []*appsv1.ReplicaSet

func noSets(types.UID) []*appsv1.ReplicaSet { return nil }

// delivered derives from what a watch brings. Several watches bring the same;
// the first is the one that counts.
func (j *journal) delivered(c engine.Change, initial bool) {
	obj, ok := c.New.(Object)
	if j == nil || !ok {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, known := j.known[derive.Ref(obj)]
	switch {
	case c.Verb == engine.Deleted:
		j.remove(obj, stranger(obj))
	case initial && !known && !j.gone.has(obj.GetUID()):
		j.find(obj)
	case !j.holds(obj):
		j.take(obj, author{})
	}
}

// seqOf is our write behind a delivered version, when it is known.
func (j *journal) seqOf(obj Object) trace.Seq {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if v, ok := j.known[derive.Ref(obj)]; ok && v.obj.GetResourceVersion() == obj.GetResourceVersion() {
		return v.seq
	}
	return 0
}

func (j *journal) remove(obj Object, actor string) {
	ref := derive.Ref(obj)
	j.gone.bury(obj.GetUID())
	if old, known := j.known[ref]; known && old.obj.GetUID() == obj.GetUID() {
		delete(j.known, ref)
		j.add(trace.Event{Actor: actor, Object: ref, Detail: trace.Removed{Owner: derive.Owner(obj)}})
	}
}

// find tells of an object that was there when the host began.
func (j *journal) find(obj Object) {
	j.known[derive.Ref(obj)] = state{obj: obj}
	emit := func(d trace.Detail) { j.add(trace.Event{Actor: trace.ActorWorld, Object: derive.Ref(obj), Detail: d}) }
	switch o := obj.(type) {
	case *appsv1.Deployment:
		derive.FoundDeployment(o, j.owned(o.UID), emit)
	case *appsv1.ReplicaSet:
		derive.FoundReplicaSet(o, emit)
	case *corev1.Pod:
		derive.FoundPod(o, rollout.IsPodReady(o), j.wall(), emit)
	}
}

// take derives what a version changed, unless one as new is known.
func (j *journal) take(obj Object, by author) {
	ref := derive.Ref(obj)
	old, known := j.known[ref]
	switch {
	case j.gone.has(obj.GetUID()), known && old.obj.GetUID() == obj.GetUID() && !newer(obj, old.obj):
		return
	case known && old.obj.GetUID() != obj.GetUID():
		j.remove(old.obj, stranger(old.obj))
		known = false
	}
	j.known[ref] = state{obj, by.wrote}
	was := old.obj
	if !known {
		was = nil
	}
	if by.actor == "" {
		by = j.other(obj, was)
	}
	j.changed(obj, was, by)
}

// newer is also true when the versions cannot be compared.
func newer(obj, old Object) bool {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), old.GetResourceVersion())
	return err != nil || order > 0
}

// stranger is whom a change is put down to that was not ours.
func stranger(obj Object) string {
	if _, pod := obj.(*corev1.Pod); pod {
		return trace.ActorKubelet
	}
	return trace.ActorYou
}

// other traces someone else's change of a workload as a person's.
func (j *journal) other(obj, old Object) author {
	by := author{actor: stranger(obj)}
	if _, pod := obj.(*corev1.Pod); pod || metav1.GetControllerOfNoCopy(obj) != nil {
		return by
	}
	change := trace.Changed{Verb: "create"}
	switch {
	case old == nil:
	case old.GetGeneration() == obj.GetGeneration():
		return by
	case obj.GetDeletionTimestamp() != nil && old.GetDeletionTimestamp() == nil:
		change.Verb = "delete"
	default:
		change = trace.Changed{Verb: "update", Fields: trace.Diff(old, obj)}
	}
	by.cause = j.add(trace.Event{Actor: by.actor, Object: derive.Ref(obj), Detail: change})
	by.wrote = by.cause
	return by
}

// changed emits what is different from the version before.
func (j *journal) changed(obj, old Object, by author) {
	say := func(actor string, cause trace.Seq, d trace.Detail) {
		j.add(trace.Event{Cause: cause, Actor: actor, Object: derive.Ref(obj), Detail: d})
	}
	emit := func(d trace.Detail) { say(by.actor, by.wrote, d) }
	switch o := obj.(type) {
	case *appsv1.Deployment:
		was, _ := old.(*appsv1.Deployment)
		derive.Deployment(o, was, func() []*appsv1.ReplicaSet { return j.owned(o.UID) }, emit)
	case *appsv1.ReplicaSet:
		was, _ := old.(*appsv1.ReplicaSet)
		if scaled, moved := derive.Scaled(o, was, by.rule); moved {
			say(by.actor, by.cause, scaled)
		}
		derive.ReplicaSet(o, was, emit)
	case *corev1.Pod:
		was, _ := old.(*corev1.Pod)
		if was == nil {
			say(by.actor, by.cause, trace.Created{Owner: derive.Owner(o)})
			was = newborn(o)
		}
		if was.Spec.NodeName == "" && o.Spec.NodeName != "" {
			say(trace.ActorScheduler, 0, trace.Scheduled{Node: o.Spec.NodeName})
		}
		derive.Pod(o, was, emit)
	}
}

// newborn is a pod as it was when it was made.
func newborn(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, OwnerReferences: pod.OwnerReferences},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}
