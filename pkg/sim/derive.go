package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

func ownerRefOf(obj Object) trace.Ref { return derive.Owner(obj) }

// written traces what a write changed, in the vocabulary of rollouts: the same
// facts that a watcher of a real cluster could read off two versions of the object.
func (w *World) written(wr *write, ref trace.Ref, actor string, seq, cause trace.Seq) {
	w.touched(wr.obj)
	if w.settling || w.cfg.Log.Depth < 0 {
		return
	}
	pod, isPod := wr.obj.(*corev1.Pod)
	if !isPod {
		w.writtenOther(wr, ref, actor, seq, cause)
		return
	}
	if old, _ := wr.old.(*corev1.Pod); old == nil {
		w.emit(trace.Event{Cause: cause, Actor: actor, Object: ref, Detail: trace.Created{Owner: ownerRefOf(pod)}})
	} else if is, changed := derive.PodChange(pod, old); changed {
		w.emit(trace.Event{Cause: seq, Actor: actor, Object: ref, Detail: is})
	}
}

// writtenOther is written for all but pods, of which most writes are.
func (w *World) writtenOther(wr *write, ref trace.Ref, actor string, seq, cause trace.Seq) {
	say := func(cause trace.Seq, d trace.Detail) {
		w.emit(trace.Event{Cause: cause, Actor: actor, Object: ref, Detail: d})
	}
	emit := func(d trace.Detail) { say(seq, d) }
	switch o := wr.obj.(type) {
	case *appsv1.Deployment:
		old, _ := wr.old.(*appsv1.Deployment)
		derive.Deployment(o, old, func() []*appsv1.ReplicaSet { return w.owned(o) }, emit)
	case *appsv1.ReplicaSet:
		old, _ := wr.old.(*appsv1.ReplicaSet)
		if scaled, moved := derive.Scaled(o, old, w.rule()); moved {
			say(cause, scaled)
		}
		derive.ReplicaSet(o, old, emit)
	case *corev1.Node:
		if old, ok := wr.old.(*corev1.Node); ok {
			derive.Node(o, old, emit)
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		if old, ok := wr.old.(*autoscalingv2.HorizontalPodAutoscaler); ok {
			derive.Autoscaler(o, old, emit)
		}
	}
}

// rule is that of the arithmetic at hand.
func (w *World) rule() trace.Rule {
	if w.running == nil {
		return ""
	}
	return w.running.rule
}

// owned are the ReplicaSets that a Deployment controls, as stored.
func (w *World) owned(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	return of[*appsv1.ReplicaSet](w.store.table(replicaSets).ofUID(d.UID))
}

// emitFound traces what is there when a run begins.
func (w *World) emitFound() {
	about := func(obj Object) derive.Emit {
		return func(d trace.Detail) {
			w.emit(trace.Event{Actor: trace.ActorWorld, Object: RefOf(obj), Detail: d})
		}
	}
	for _, node := range of[*corev1.Node](w.store.table(kindByResource[Nodes]).everything()) {
		derive.FoundNode(node, about(node))
	}
	for _, d := range of[*appsv1.Deployment](w.store.table(deployments).everything()) {
		derive.FoundDeployment(d, w.owned(d), about(d))
	}
	now := w.loop.Now()
	minReady := map[string]int32{}
	for _, rs := range of[*appsv1.ReplicaSet](w.store.table(replicaSets).everything()) {
		minReady[rs.Namespace+"/"+rs.Name] = rs.Spec.MinReadySeconds
		derive.FoundReplicaSet(rs, about(rs))
	}
	for _, pod := range of[*corev1.Pod](w.store.table(pods).everything()) {
		owner := ownerRefOf(pod)
		available := w.cfg.Version.IsPodAvailable(pod, minReady[owner.Namespace+"/"+owner.Name], now)
		derive.FoundPod(pod, available, now, about(pod))
	}
}
