package live

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// take takes what a watch brought. The journal is locked.
func (f *Follower) take(a arrival) {
	switch obj := a.obj.(type) {
	case *appsv1.Deployment:
		f.takeDeployment(a, obj)
	case *appsv1.ReplicaSet:
		if f.follows(derive.Ref(obj)) || f.follows(deploymentOf(obj)) {
			f.takeSet(a, obj)
		}
	case *corev1.Pod:
		ref := derive.Ref(obj)
		delete(f.early, ref)
		switch {
		case f.sets[setRef(obj)] != nil || f.pods[ref] != nil:
			f.takePod(a, obj)
		case a.verb != engine.Deleted:
			f.early[ref] = a
		}
	case *corev1.Event:
		if !a.initial && a.verb != engine.Deleted {
			f.heard(obj)
		}
	}
}

func (f *Follower) follows(ref trace.Ref) bool {
	for _, w := range f.options.Workloads {
		if w == ref {
			return true
		}
	}
	return false
}

// deploymentOf and setRef are the controllers that objects name.
func deploymentOf(rs *appsv1.ReplicaSet) trace.Ref { return derive.Owner(rs) }

func setRef(pod *corev1.Pod) trace.Ref { return derive.Owner(pod) }

func (f *Follower) takeDeployment(a arrival, d *appsv1.Deployment) {
	j, ref := f.journal, derive.Ref(d)
	old := f.deps[ref]
	if old != nil && old.UID != d.UID { // a watch that was cut may miss the end of the first
		j.remove(old, actorSomeone)
		old = nil
	}
	if old != nil {
		f.remember(ref)
	}
	switch {
	case a.verb == engine.Deleted:
		delete(f.deps, ref)
		f.gone[ref] = true
		j.remove(d, actorSomeone)
		return
	case a.initial:
		f.deps[ref] = d
		j.find(d)
		return
	}
	f.deps[ref] = d
	delete(f.gone, ref)
	var was Object
	if old != nil {
		was = old
	}
	by := author{actor: controllerOf(d, was, trace.ActorDeployment)}
	if old == nil || d.Generation != old.Generation {
		by = f.changedBy(d, was)
	} else if !reflect.DeepEqual(d.Status, old.Status) {
		by.actor = trace.ActorDeployment
	}
	j.take(d, by)
}

// changedBy tells of a change that a person, or a program in their place, made
// to a workload.
func (f *Follower) changedBy(obj, old Object) author {
	ref := derive.Ref(obj)
	by := author{actor: handOf(obj, old)}
	if obj.GetGeneration() <= f.mine[obj.GetUID()] {
		by.actor = trace.ActorYou
	}
	change := trace.Changed{Verb: "create"}
	switch {
	case old == nil:
	case obj.GetDeletionTimestamp() != nil && old.GetDeletionTimestamp() == nil:
		change.Verb = "delete"
	default:
		change = trace.Changed{Verb: "update", Fields: trace.Diff(old, obj)}
	}
	by.cause = f.journal.add(trace.Event{Actor: by.actor, Object: ref, Detail: change})
	by.wrote = by.cause
	return by
}

// remember keeps how a Deployment and its ReplicaSets were.
func (f *Follower) remember(at trace.Ref) {
	d := f.deps[at]
	if d == nil {
		return
	}
	kept := append(f.moments[at], outlook{d, f.owned(d.UID)})
	f.moments[at] = kept[max(0, len(kept)-outlooks):]
}

func (f *Follower) takeSet(a arrival, rs *appsv1.ReplicaSet) {
	j, ref, owner := f.journal, derive.Ref(rs), deploymentOf(rs)
	old := f.sets[ref]
	if old != nil && old.UID != rs.UID {
		f.removeSet(old, deploymentOf(old))
		old = nil
	}
	f.remember(owner)
	switch {
	case a.verb == engine.Deleted:
		f.removeSet(rs, owner)
		return
	case a.initial:
		f.sets[ref] = rs
		j.find(rs)
		return
	}
	var was Object
	if old != nil {
		was = old
	}
	by := author{actor: trace.ActorReplicaSet, wrote: f.scaled[ref]}
	switch {
	case sameSpec(rs, old):
	case f.follows(ref): // a bare one
		by = f.changedBy(rs, was)
	default:
		by = author{actor: controllerOf(rs, was, trace.ActorDeployment)}
		if old == nil || rollout.Size(old) != rollout.Size(rs) {
			by.actor = sizerOf(rs, was)
			if by.actor == trace.ActorDeployment {
				by.cause, by.rule = f.explain(rs, owner, a.blurred)
			}
		}
	}
	f.sets[ref] = rs
	j.take(rs, by)
	if old == nil {
		f.takeEarly(ref)
	}
}

// takeEarly takes the pods of a ReplicaSet that were brought before it, by a
// watch that was not lost when the ReplicaSet's was.
func (f *Follower) takeEarly(set trace.Ref) {
	var own []arrival
	for _, a := range f.early {
		if setRef(a.obj.(*corev1.Pod)) == set {
			own = append(own, a)
		}
	}
	slices.SortStableFunc(own, func(a, b arrival) int {
		return cmp.Or(compareVersions(a, b), strings.Compare(a.obj.GetName(), b.obj.GetName()))
	})
	for _, a := range own {
		f.take(a)
	}
}

// explain tells the arithmetic of a ReplicaSet's step before the step itself.
// After a gap it may be several steps in one, which no arithmetic has to give.
func (f *Follower) explain(rs *appsv1.ReplicaSet, owner trace.Ref, blurred bool) (trace.Seq, trace.Rule) {
	budgets, explained := explanation(f.moments[owner], f.options.Version, rs.Name, rollout.Size(rs))
	if blurred && !explained {
		return f.trigger[owner], ""
	}
	var seq trace.Seq
	var rule trace.Rule
	for _, b := range budgets {
		seq = f.journal.add(trace.Event{Cause: f.trigger[owner], Actor: trace.ActorDeployment, Object: derive.Ref(rs), Detail: b.Budgeted()})
		rule = b.Rule
	}
	return seq, rule
}

// removeSet is an old ReplicaSet beyond the history limit, one whose Deployment
// is gone or goes with all it has, or anybody's deletion.
func (f *Follower) removeSet(rs *appsv1.ReplicaSet, owner trace.Ref) {
	ref, by := derive.Ref(rs), actorSomeone
	d := f.deps[owner]
	switch {
	case owner.Kind == "Deployment" && (d == nil || d.DeletionTimestamp != nil || !metav1.IsControlledBy(rs, d)):
		by = actorCollector
	case d != nil:
		sets := rollout.Split(d, f.owned(d.UID))
		victims, budget := rollout.PlanHistory(d, sets.Old)
		for _, victim := range victims {
			if victim.UID == rs.UID {
				by = trace.ActorDeployment
				cause := f.journal.add(trace.Event{Cause: f.trigger[owner], Actor: by, Object: owner, Detail: budget.Budgeted()})
				f.journal.add(trace.Event{Cause: cause, Actor: by, Object: ref, Detail: trace.Deleted{Owner: owner, Reason: string(trace.History)}})
				break
			}
		}
	}
	delete(f.sets, ref)
	delete(f.bursts, ref)
	f.gone[ref] = true
	f.journal.remove(rs, by)
}

// heard is a Kubernetes Event about one of the objects, each text once.
func (f *Follower) heard(e *corev1.Event) {
	ref := trace.Ref{Kind: e.InvolvedObject.Kind, Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
	_, pod := f.pods[ref]
	_, set := f.sets[ref]
	if !pod && !set && !f.follows(ref) {
		return
	}
	key := string(e.InvolvedObject.UID) + "\n" + e.Reason + "\n" + e.Message
	if f.said[key] {
		return
	}
	f.said[key] = true
	f.announce(e)
	actor := speaker(e)
	f.journal.add(trace.Event{Actor: actor, Node: e.Source.Host, Object: ref, Detail: trace.Recorded{EventType: e.Type, Reason: e.Reason, Message: e.Message}})
	if set && e.Reason == "FailedCreate" {
		refused := trace.Ref{Kind: "Pod", Namespace: ref.Namespace, Name: ref.Name + "-"}
		f.journal.add(trace.Event{Cause: f.scaled[ref], Actor: actor, Object: refused, Detail: trace.Rejected{Message: strings.TrimPrefix(e.Message, "Error creating: ")}})
	}
}

// relatedOnNodes counts by node the active pods of a ReplicaSet's Deployment.
func (f *Follower) relatedOnNodes(rs *appsv1.ReplicaSet) map[string]int32 {
	owner := metav1.GetControllerOfNoCopy(rs)
	if owner == nil {
		return nil
	}
	related := map[trace.Ref]bool{}
	for _, s := range f.owned(owner.UID) {
		related[derive.Ref(s)] = true
	}
	onNode := map[string]int32{}
	for _, pod := range f.pods {
		if related[setRef(pod)] && rollout.IsPodActive(pod) {
			onNode[pod.Spec.NodeName]++
		}
	}
	return onNode
}
