package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func ownerRefOf(obj Object) trace.Ref {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return trace.Ref{}
	}
	return trace.Ref{Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name}
}

// written traces what a write changed, in the vocabulary of rollouts: the same
// facts that a watcher of a real cluster could read off two versions of the object.
func (w *World) written(wr write, a *actor, seq, cause trace.Seq) {
	w.touched(wr.obj)
	if w.settling || w.cfg.Log.Depth < 0 {
		return
	}
	emit := func(cause trace.Seq, d trace.Detail) {
		w.emit(trace.Event{Cause: cause, Actor: a.name, Object: RefOf(wr.obj), Detail: d})
	}
	switch o := wr.obj.(type) {
	case *appsv1.Deployment:
		old, _ := wr.old.(*appsv1.Deployment)
		w.deploymentWritten(o, old, func(d trace.Detail) { emit(seq, d) })
	case *appsv1.ReplicaSet:
		old, _ := wr.old.(*appsv1.ReplicaSet)
		if old == nil || *old.Spec.Replicas != *o.Spec.Replicas {
			emit(cause, w.scaled(o, old))
		}
		replicaSetWritten(o, old, func(d trace.Detail) { emit(seq, d) })
	case *corev1.Pod:
		old, _ := wr.old.(*corev1.Pod)
		if old == nil {
			emit(cause, trace.Created{Owner: ownerRefOf(o)})
			return
		}
		podWritten(o, old, func(d trace.Detail) { emit(seq, d) })
	}
}

// scaled says how a ReplicaSet's size moved, with the rule of the arithmetic at hand.
func (w *World) scaled(rs, old *appsv1.ReplicaSet) trace.Scaled {
	s := trace.Scaled{To: *rs.Spec.Replicas, Owner: ownerRefOf(rs)}
	if w.running != nil {
		s.Why = w.running.rule
	}
	if old == nil {
		s.Created, s.Revision, s.Hash = true, rs.Annotations[rollout.RevisionAnnotation], rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	} else {
		s.From = *old.Spec.Replicas
	}
	return s
}

func (w *World) deploymentWritten(d, old *appsv1.Deployment, emit func(trace.Detail)) {
	if old == nil || d.Generation != old.Generation || d.Annotations[rollout.RevisionAnnotation] != old.Annotations[rollout.RevisionAnnotation] {
		emit(w.specified(d))
	}
	if old == nil {
		return
	}
	if is, was := deploymentCounts(d), deploymentCounts(old); !sameStatus(is, was) {
		emit(is)
	}
	conditionsWritten(deploymentConditions(d), deploymentConditions(old), emit)
}

func replicaSetWritten(rs, old *appsv1.ReplicaSet, emit func(trace.Detail)) {
	if metav1.GetControllerOfNoCopy(rs) == nil && (old == nil || rs.Generation != old.Generation) {
		emit(specifiedReplicaSet(rs))
	}
	if old == nil {
		return
	}
	if is, was := replicaSetCounts(rs), replicaSetCounts(old); !sameStatus(is, was) {
		emit(is)
	}
	conditionsWritten(replicaSetConditions(rs), replicaSetConditions(old), emit)
}

func podWritten(pod, old *corev1.Pod, emit func(trace.Detail)) {
	if is, was := podState(pod), podState(old); is != was {
		emit(is)
	}
}

func podState(pod *corev1.Pod) trace.PodChanged {
	return trace.PodChanged{
		Owner: ownerRefOf(pod), Phase: string(pod.Status.Phase), Ready: rollout.IsPodReady(pod),
		Reason: podReason(pod), Terminating: pod.DeletionTimestamp != nil,
	}
}

// podReason is the word for why a pod is not what it should be: its own, or
// its first waiting or crashed container's.
func podReason(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return pod.Status.Reason
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if waiting := list[i].State.Waiting; waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
				return waiting.Reason
			}
		}
	}
	return ""
}

func deploymentCounts(d *appsv1.Deployment) trace.StatusChanged {
	s := d.Status
	return trace.StatusChanged{
		ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas, Updated: s.UpdatedReplicas, Ready: s.ReadyReplicas,
		Available: s.AvailableReplicas, Unavailable: s.UnavailableReplicas, Terminating: s.TerminatingReplicas,
	}
}

func replicaSetCounts(rs *appsv1.ReplicaSet) trace.StatusChanged {
	s := rs.Status
	return trace.StatusChanged{
		ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas, Ready: s.ReadyReplicas,
		Available: s.AvailableReplicas, Terminating: s.TerminatingReplicas,
	}
}

func sameStatus(a, b trace.StatusChanged) bool {
	at, bt := a.Terminating, b.Terminating
	a.Terminating, b.Terminating = nil, nil
	return a == b && (at == nil) == (bt == nil) && (at == nil || *at == *bt)
}

func deploymentConditions(d *appsv1.Deployment) []trace.ConditionChanged {
	var out []trace.ConditionChanged
	for _, c := range d.Status.Conditions {
		out = append(out, trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return out
}

func replicaSetConditions(rs *appsv1.ReplicaSet) []trace.ConditionChanged {
	var out []trace.ConditionChanged
	for _, c := range rs.Status.Conditions {
		out = append(out, trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return out
}

// conditionsWritten emits each condition that is new or different, and each that went.
func conditionsWritten(is, was []trace.ConditionChanged, emit func(trace.Detail)) {
	find := func(list []trace.ConditionChanged, kind string) *trace.ConditionChanged {
		for i := range list {
			if list[i].Condition == kind {
				return &list[i]
			}
		}
		return nil
	}
	for _, c := range is {
		if old := find(was, c.Condition); old == nil || *old != c {
			emit(c)
		}
	}
	for _, c := range was {
		if find(is, c.Condition) == nil {
			emit(trace.ConditionChanged{Condition: c.Condition})
		}
	}
}

// specified is a Deployment's spec as the arithmetic sees it.
func (w *World) specified(d *appsv1.Deployment) trace.Specified {
	s := trace.Specified{
		Generation: d.Generation, Replicas: *d.Spec.Replicas, Strategy: string(d.Spec.Strategy.Type),
		Surge: rollout.MaxSurge(d), Unavailable: rollout.MaxUnavailable(d), Needed: rollout.MinAvailable(d),
		MinReadySeconds: d.Spec.MinReadySeconds, ProgressDeadlineSeconds: d.Spec.ProgressDeadlineSeconds,
		Paused: d.Spec.Paused, Revision: d.Annotations[rollout.RevisionAnnotation],
	}
	if own := rollout.Split(d, w.owned(d)).New; own != nil {
		s.NewSet = own.Name
	}
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		if r.MaxSurge != nil {
			s.MaxSurge = r.MaxSurge.String()
		}
		if r.MaxUnavailable != nil {
			s.MaxUnavailable = r.MaxUnavailable.String()
		}
	}
	return s
}

// owned are the ReplicaSets that a Deployment controls, as stored.
func (w *World) owned(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	return of[*appsv1.ReplicaSet](w.store.table(ReplicaSets).byUID[d.UID])
}

func specifiedReplicaSet(rs *appsv1.ReplicaSet) trace.Specified {
	return trace.Specified{Generation: rs.Generation, Replicas: *rs.Spec.Replicas, Needed: *rs.Spec.Replicas, MinReadySeconds: rs.Spec.MinReadySeconds}
}

// emitFound traces what is there when a run begins.
func (w *World) emitFound() {
	say := func(obj Object, d trace.Detail) {
		w.emit(trace.Event{Actor: trace.ActorWorld, Object: RefOf(obj), Detail: d})
	}
	for _, d := range of[*appsv1.Deployment](&w.store.table(Deployments).all) {
		say(d, w.specified(d))
		say(d, trace.Found{Replicas: d.Spec.Replicas, Revision: d.Annotations[rollout.RevisionAnnotation]})
		for _, c := range deploymentConditions(d) {
			say(d, c)
		}
	}
	minReady := map[string]int32{}
	for _, rs := range of[*appsv1.ReplicaSet](&w.store.table(ReplicaSets).all) {
		if metav1.GetControllerOfNoCopy(rs) == nil {
			say(rs, specifiedReplicaSet(rs))
		}
		minReady[rs.Namespace+"/"+rs.Name] = rs.Spec.MinReadySeconds
		say(rs, trace.Found{
			Owner: ownerRefOf(rs), Replicas: rs.Spec.Replicas,
			Revision: rs.Annotations[rollout.RevisionAnnotation], Hash: rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey],
		})
	}
	for _, pod := range of[*corev1.Pod](&w.store.table(Pods).all) {
		owner := ownerRefOf(pod)
		say(pod, trace.Found{
			Owner: owner, Phase: string(pod.Status.Phase), Node: pod.Spec.NodeName, Ready: rollout.IsPodReady(pod), ReadySeconds: w.readySeconds(pod),
			Available: w.cfg.Version.IsPodAvailable(pod, minReady[owner.Namespace+"/"+owner.Name], w.loop.now),
		})
		if state := podState(pod); state.Terminating || state.Reason != "" {
			say(pod, state)
		}
	}
}

// readySeconds is how long a pod has been ready; zero when it is not or that is unknown.
func (w *World) readySeconds(pod *corev1.Pod) float64 {
	ready := rollout.PodReadyCondition(pod)
	if ready == nil || ready.Status != corev1.ConditionTrue || ready.LastTransitionTime.IsZero() {
		return 0
	}
	return w.loop.now.Sub(ready.LastTransitionTime.Time).Seconds()
}
