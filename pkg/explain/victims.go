package explain

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// How many victims are told of a ReplicaSet that was asked about, of each of a
// Deployment's, and besides a pod that was asked about.
const (
	manyVictims = 10
	someVictims = 3
)

// victims are the pods that a ReplicaSet would delete first, each with the rule
// that puts it before the next. The controller itself is asked: it is shown the
// ReplicaSet at smaller and smaller sizes.
func (s *Snapshot) victims(ctx context.Context, rs *appsv1.ReplicaSet, most int) []v1alpha1.Victim {
	active := s.activeOf(rs)
	var out []v1alpha1.Victim
	for n := 1; n <= min(most, len(active)); n++ {
		if v, ok := s.victim(ctx, rs, active, n); ok {
			out = append(out, v)
		}
	}
	return out
}

// victim is the one at a place. The last of all is the one that stays when one
// is wanted: when none is, nothing is ranked.
func (s *Snapshot) victim(ctx context.Context, rs *appsv1.ReplicaSet, active []*corev1.Pod, place int) (v1alpha1.Victim, bool) {
	out := v1alpha1.Victim{ReplicaSet: derive.Ref(rs), Place: place, Of: len(active), Rank: trace.Rank{Rule: string(rollout.RankAll)}}
	going := s.going(ctx, rs, max(len(active)-place, min(1, len(active)-1)))
	if place < len(active) && place == len(going) {
		last := going[place-1]
		out.Pod = last.Object
		if d, ok := last.Detail.(trace.Deleted); ok && d.Rank != nil {
			out.Rank = *d.Rank
		}
		return out, true
	}
	for _, pod := range active {
		if place == len(active) && len(going) == place-1 && !slices.ContainsFunc(going, func(e trace.Event) bool { return e.Object == derive.Ref(pod) }) {
			out.Pod = derive.Ref(pod)
			return out, true
		}
	}
	return out, false
}

// standing is a pod's place among the victims, behind the first few.
func (s *Snapshot) standing(ctx context.Context, rs *appsv1.ReplicaSet, pod *corev1.Pod) []v1alpha1.Victim {
	active := s.activeOf(rs)
	all := s.going(ctx, rs, min(1, len(active)-1)) // in order
	place := slices.IndexFunc(all, func(e trace.Event) bool { return e.Object == derive.Ref(pod) }) + 1
	if place == 0 && slices.Contains(active, pod) && len(all) == len(active)-1 {
		place = len(active) // the one that stays
	}
	first := s.victims(ctx, rs, min(someVictims, place))
	if place <= someVictims {
		return first
	}
	if own, ok := s.victim(ctx, rs, active, place); ok {
		return append(first, own)
	}
	return first
}

// going is what the controller would delete, in order, if a ReplicaSet wanted so many pods.
func (s *Snapshot) going(ctx context.Context, rs *appsv1.ReplicaSet, wanted int) []trace.Event {
	if wanted < 0 || rs.DeletionTimestamp != nil {
		return nil
	}
	fewer, size := *rs, int32(wanted)
	fewer.Spec.Replicas = &size
	then := *s
	then.ReplicaSets = slices.Clone(s.ReplicaSets)
	then.ReplicaSets[slices.Index(s.ReplicaSets, rs)] = &fewer
	events := then.rehearse(ctx, replicaset.Spec(s.Version), engine.Key{Namespace: rs.Namespace, Name: rs.Name}, 0)
	return slices.DeleteFunc(events, func(e trace.Event) bool {
		_, deleted := e.Detail.(trace.Deleted)
		return !deleted
	})
}

// activeOf are the active pods that a ReplicaSet has and keeps.
func (s *Snapshot) activeOf(rs *appsv1.ReplicaSet) []*corev1.Pod {
	return slices.DeleteFunc(s.podsOf(rs), func(pod *corev1.Pod) bool { return !rollout.IsPodActive(pod) || !matches(rs, pod.Labels) })
}
