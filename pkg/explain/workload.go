package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// passes are one pass over each ReplicaSet's Deployment, and one over each of them.
func (s *Snapshot) passes(ctx context.Context, sets ...*appsv1.ReplicaSet) []trace.Event {
	var events []trace.Event
	run := func(spec engine.Spec, obj Object) {
		last := trace.Seq(len(events))
		events = append(events, s.rehearse(ctx, spec, engine.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}, last)...)
	}
	var done []*appsv1.Deployment
	for _, rs := range sets {
		if d := s.owner(rs); d != nil && !slices.Contains(done, d) {
			done = append(done, d)
			run(deployment.Spec(s.Version), d)
		}
	}
	for _, rs := range sets {
		run(replicaset.Spec(s.Version), rs)
	}
	return events
}

// Deployment explains a Deployment; false when it is not known.
func (s *Snapshot) Deployment(ctx context.Context, namespace, name string) (*v1alpha1.ExplanationStatus, bool) {
	d, ok := find(s.Deployments, namespace, name)
	if !ok {
		return nil, false
	}
	sets := slices.DeleteFunc(s.setsOf(d), func(rs *appsv1.ReplicaSet) bool { return rollout.Size(rs) == 0 && len(s.podsOf(rs)) == 0 })
	out := &v1alpha1.ExplanationStatus{}
	if len(sets) == 0 {
		t := &teller{}
		t.deployment(d)
		t.events(s)
		out.Facts = t.sorted()
		out.Pass = s.rehearse(ctx, deployment.Spec(s.Version), engine.Key{Namespace: namespace, Name: name}, 0)
	} else {
		out.Facts, out.Pass = s.facts(nil, sets...), s.passes(ctx, sets...)
	}
	s.waits(out, sets)
	conclude(out, s.standingOf(d, out))
	for _, rs := range sets {
		out.Victims = append(out.Victims, s.victims(ctx, rs, someVictims)...)
	}
	return out, true
}

// ReplicaSet explains a ReplicaSet; false when it is not known.
func (s *Snapshot) ReplicaSet(ctx context.Context, namespace, name string) (*v1alpha1.ExplanationStatus, bool) {
	rs, ok := find(s.ReplicaSets, namespace, name)
	if !ok {
		return nil, false
	}
	out := &v1alpha1.ExplanationStatus{Facts: s.facts(nil, rs), Pass: s.passes(ctx, rs), Victims: s.victims(ctx, rs, manyVictims)}
	s.waits(out, []*appsv1.ReplicaSet{rs})
	conclude(out, s.standingOfSet(rs, out))
	return out, true
}

// standingOf is how a Deployment stands.
func (s *Snapshot) standingOf(d *appsv1.Deployment, out *v1alpha1.ExplanationStatus) v1alpha1.Finding {
	f := v1alpha1.Finding{Topic: v1alpha1.TopicState, Message: s.counts(d)}
	progressing := rollout.Condition(d.Status.Conditions, appsv1.DeploymentProgressing)
	refused := slices.IndexFunc(out.Findings, func(f v1alpha1.Finding) bool {
		return f.Cause == v1alpha1.CauseQuota || f.Cause == v1alpha1.CauseRefused
	})
	switch {
	case d.DeletionTimestamp != nil:
		f.Cause = v1alpha1.CauseDeleted
	case d.Spec.Paused:
		f.Cause, f.Message = v1alpha1.CausePaused, f.Message+"; it is paused, so that only its size is followed"
	case refused >= 0:
		f.Cause = out.Findings[refused].Cause
	case acts(out.Pass):
		f.Cause = v1alpha1.CauseRollingOut
	case s.whole(d):
		f.Cause = v1alpha1.CauseComplete
	case progressing != nil && progressing.Reason == rollout.ReasonProgressDeadlineExceeded:
		f.Cause = v1alpha1.CauseDeadline
	default:
		f.Cause = v1alpha1.CauseWaiting
	}
	return f
}

// standingOfSet is how a ReplicaSet stands.
func (s *Snapshot) standingOfSet(rs *appsv1.ReplicaSet, out *v1alpha1.ExplanationStatus) v1alpha1.Finding {
	active := s.activeOf(rs)
	f := v1alpha1.Finding{Topic: v1alpha1.TopicState, Cause: v1alpha1.CauseWaiting}
	f.Message = fmt.Sprintf("%d of %d pods, %d available", len(active), rollout.Size(rs), s.available(active, rs.Spec.MinReadySeconds))
	refused, isRefused := s.refusal(rs)
	switch {
	case rs.DeletionTimestamp != nil:
		f.Cause = v1alpha1.CauseDeleted
	case isRefused:
		f.Cause = refused.Cause
	case acts(out.Pass):
		f.Cause = v1alpha1.CauseRollingOut
	case s.available(active, rs.Spec.MinReadySeconds) == int(rollout.Size(rs)):
		f.Cause = v1alpha1.CauseComplete
	}
	if d := s.owner(rs); d != nil && !s.isNew(rs) {
		f.Message += "; it is of an old template of " + named(derive.Ref(d))
	}
	return f
}

// counts is how many pods a Deployment has, and of which template.
func (s *Snapshot) counts(d *appsv1.Deployment) string {
	total, updated, available := 0, 0, 0
	for _, rs := range s.setsOf(d) {
		active := s.activeOf(rs)
		total += len(active)
		available += s.available(active, d.Spec.MinReadySeconds)
		if s.isNew(rs) {
			updated = len(active)
		}
	}
	return countWords(int32(total), rollout.Desired(d), int32(updated), int32(available), rollout.MinAvailable(d))
}

func (s *Snapshot) available(pods []*corev1.Pod, minReadySeconds int32) (n int) {
	for _, pod := range pods {
		if s.Version.IsPodAvailable(pod, minReadySeconds, s.Now) {
			n++
		}
	}
	return n
}

// whole says that a Deployment has as many available pods of its template as it
// wants, and no others.
func (s *Snapshot) whole(d *appsv1.Deployment) bool {
	for _, rs := range s.setsOf(d) {
		active := s.activeOf(rs)
		wanted := 0
		if s.isNew(rs) {
			wanted = int(rollout.Desired(d))
		}
		if len(active) != wanted || s.available(active, d.Spec.MinReadySeconds) != wanted {
			return false
		}
	}
	return rollout.FindNewReplicaSet(d, s.setsOf(d)) != nil
}

// acts says that a pass makes, sizes, deletes, adopts or lets go of something.
func acts(pass []trace.Event) bool {
	return slices.ContainsFunc(pass, func(e trace.Event) bool {
		switch e.Detail.(type) {
		case trace.Scaled, trace.Created, trace.Deleted, trace.Adopted, trace.Released, trace.Changed:
			return true
		}
		return false
	})
}

// waits are what the controllers wait for: requests that are refused, pods that
// are not available, alike ones together, and old pods that are to end.
func (s *Snapshot) waits(out *v1alpha1.ExplanationStatus, sets []*appsv1.ReplicaSet) {
	for _, rs := range sets {
		if f, ok := s.refusal(rs); ok {
			f.Topic = v1alpha1.TopicWaits
			out.Findings = append(out.Findings, f)
		}
		var groups []v1alpha1.Finding
		var members [][]string
		for _, pod := range s.podsOf(rs) {
			f := s.podCase(pod).state()
			if f.Cause == v1alpha1.CauseAvailable || !s.awaited(rs, pod) {
				continue
			}
			f.Topic = v1alpha1.TopicWaits
			i := slices.IndexFunc(groups, func(g v1alpha1.Finding) bool { return g.Cause == f.Cause && g.Message == f.Message })
			if i < 0 {
				groups, members = append(groups, f), append(members, nil)
				i = len(groups) - 1
			}
			members[i] = append(members[i], pod.Name)
		}
		for i, f := range groups {
			f.Object = trace.Ref{Kind: "Pod", Namespace: rs.Namespace, Name: members[i][0]}
			f.Message = who(rs, members[i]) + ": " + f.Message
			out.Findings = append(out.Findings, f)
		}
	}
}

// awaited says that a pod which is not available matters: it is to become so, or
// a Recreate rollout makes no new pods before it has ended.
func (s *Snapshot) awaited(rs *appsv1.ReplicaSet, pod *corev1.Pod) bool {
	d := s.owner(rs)
	recreate := d != nil && !rollout.IsRollingUpdate(d) && !s.isNew(rs)
	return rollout.IsPodActive(pod) || recreate && !rollout.IsPodTerminal(pod)
}

// who names one pod, or counts several.
func who(rs *appsv1.ReplicaSet, pods []string) string {
	if len(pods) == 1 {
		return pods[0]
	}
	return fmt.Sprintf("%d pods of %s, as %s", len(pods), rs.Name, strings.Join(pods[:1], ""))
}
