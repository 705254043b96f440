package live

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// burst is the pods that a ReplicaSet makes or deletes from one look at them.
type burst struct {
	seq     trace.Seq
	surplus int32 // negative: pods it makes
	left    int32
	size    int32 // of the ReplicaSet
	victims map[string]rollout.Ranked
}

func (f *Follower) takePod(a arrival, pod *corev1.Pod) {
	j, ref := f.journal, derive.Ref(pod)
	old := f.pods[ref]
	if old != nil && old.UID != pod.UID {
		j.remove(old, trace.ActorKubelet)
		old = nil
	}
	switch {
	case a.verb == engine.Deleted:
		f.leaving(pod, old)
		delete(f.pods, ref)
		delete(f.warned, pod.UID)
		j.remove(pod, trace.ActorKubelet)
		return
	case a.initial:
		f.pods[ref] = pod
		j.find(pod)
		return
	}
	by := author{actor: podWriter(pod, old)}
	if old == nil {
		if by.actor == trace.ActorReplicaSet {
			by.cause = f.wanted(pod)
		}
	} else if pod.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
		by.actor, by.wrote = f.leaving(pod, old)
	}
	f.pods[ref] = pod
	j.take(pod, by)
	f.unschedulable(pod, old)
	f.exits(pod, old)
}

// wanted is the count for which a ReplicaSet makes a pod.
func (f *Follower) wanted(pod *corev1.Pod) trace.Seq {
	rs := f.sets[setRef(pod)]
	if rs == nil {
		return 0
	}
	if b := f.bursts[derive.Ref(rs)]; b != nil && b.surplus < 0 && b.size == rollout.Size(rs) && b.left > 0 {
		b.left--
		return b.seq
	}
	active := f.active(rs)
	b := f.burst(rs, active)
	b.left = max(b.left-1, 0)
	return b.seq
}

func (f *Follower) active(rs *appsv1.ReplicaSet) []*corev1.Pod {
	at := derive.Ref(rs)
	var out []*corev1.Pod
	for _, pod := range f.pods {
		if setRef(pod) == at && rollout.IsPodActive(pod) {
			out = append(out, pod)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// burst begins one: the pods there are against those wanted.
func (f *Follower) burst(rs *appsv1.ReplicaSet, active []*corev1.Pod) *burst {
	there, size := int32(len(active)), rollout.Size(rs)
	b := &burst{surplus: there - size, left: max(there-size, size-there), size: size}
	ref := derive.Ref(rs)
	b.seq = f.journal.add(trace.Event{Cause: f.scaled[ref], Actor: trace.ActorReplicaSet, Object: ref, Detail: trace.Budgeted{
		Rule: trace.Wanted, Terms: []trace.Term{{Name: "there", Value: there}, {Name: "wanted", Value: -size}}, Result: b.surplus,
	}})
	f.bursts[ref] = b
	return b
}

// leaving tells of a pod that was asked to go, and by whom: what threw it out
// where the pod or an Event says so, its ReplicaSet where that has too many,
// the garbage collector where that is gone, or else someone.
func (f *Follower) leaving(pod, old *corev1.Pod) (string, trace.Seq) {
	if old == nil || old.DeletionTimestamp != nil {
		return trace.ActorKubelet, 0
	}
	said := trace.Deleted{Owner: setRef(pod), GraceSeconds: pod.DeletionGracePeriodSeconds}
	actor, cause := actorSomeone, trace.Seq(0)
	if out := f.thrownOut(pod, old); out.by != "" {
		actor, said.Reason = out.by, "Evicted"
		f.journal.add(trace.Event{Actor: actor, Object: derive.Ref(pod), Detail: trace.Evicted{By: out.by, Message: out.message}})
	} else if f.orphaned(pod) {
		actor, said.Reason = actorCollector, "Owner gone"
	} else if b := f.surplus(pod, old); b != nil {
		actor, cause, said.Reason = trace.ActorReplicaSet, b.seq, string(trace.Surplus)
		if why, ranked := b.victims[pod.Name]; ranked {
			said.Reason, said.Rank = rankOf(why)
		}
	}
	return actor, f.journal.add(trace.Event{Cause: cause, Actor: actor, Object: derive.Ref(pod), Detail: said})
}

// surplus is the burst of deletions that a pod is one of; nil when its
// ReplicaSet has none to spare. It does not look at pods that have ended.
func (f *Follower) surplus(pod, old *corev1.Pod) *burst {
	if rollout.IsPodTerminal(old) {
		return nil
	}
	rs := f.sets[setRef(pod)]
	if b := f.bursts[derive.Ref(rs)]; b != nil && b.surplus > 0 && b.size == rollout.Size(rs) && b.left > 0 {
		b.left--
		return b
	}
	active := f.active(rs)
	n := int32(len(active)) - rollout.Size(rs)
	if n <= 0 {
		return nil
	}
	b := f.burst(rs, active)
	b.left--
	victims := f.options.Version.ChooseVictims(active, f.relatedOnNodes(rs), int(n), f.cluster.clock.Now())
	b.victims = map[string]rollout.Ranked{}
	for i, victim := range victims.Pods {
		b.victims[victim.Name] = victims.Why(i)
	}
	return b
}

func rankOf(why rollout.Ranked) (string, *trace.Rank) {
	if why.Rule == rollout.RankAll {
		return "All", nil
	}
	return "Ranked", &trace.Rank{Rule: string(why.Rule), Mine: why.Mine, Other: why.Other, Stays: why.Stays.Name, OnNode: why.OnNode}
}

// unschedulable tells why no node takes a pod, whenever that is said anew.
func (f *Follower) unschedulable(pod, old *corev1.Pod) {
	message := noNode(pod)
	if message == "" || old != nil && noNode(old) == message {
		return
	}
	requests := map[string]string{}
	for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		requests[string(name)] = quantity.String()
	}
	f.journal.add(trace.Event{Actor: trace.ActorScheduler, Object: derive.Ref(pod), Detail: trace.Unschedulable{Message: message, Requests: requests}})
}

func noNode(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.Message
		}
	}
	return ""
}

// exits tells of containers that ended, while the pod was to go on.
func (f *Follower) exits(pod, old *corev1.Pod) {
	if old == nil || pod.DeletionTimestamp != nil {
		return
	}
	for i := range pod.Status.ContainerStatuses {
		now := &pod.Status.ContainerStatuses[i]
		ended, before := lastExit(now), (*corev1.ContainerStateTerminated)(nil)
		for k := range old.Status.ContainerStatuses {
			if old.Status.ContainerStatuses[k].Name == now.Name {
				before = lastExit(&old.Status.ContainerStatuses[k])
			}
		}
		if ended == nil || before != nil && before.FinishedAt.Equal(&ended.FinishedAt) && before.ContainerID == ended.ContainerID {
			continue
		}
		f.journal.add(trace.Event{Actor: trace.ActorKubelet, Node: pod.Spec.NodeName, Object: derive.Ref(pod),
			Detail: trace.Exited{Container: now.Name, Code: ended.ExitCode, Reason: ended.Reason, Restarts: now.RestartCount}})
	}
}

func lastExit(s *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	return s.LastTerminationState.Terminated
}
