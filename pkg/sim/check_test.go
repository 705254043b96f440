package sim

import (
	"errors"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func TestCheckFindsWhatIsWrong(t *testing.T) {
	deployment := trace.Ref{Kind: "Deployment", Namespace: "ns", Name: "web"}
	old, next := trace.Ref{Kind: "ReplicaSet", Namespace: "ns", Name: "web-1"}, trace.Ref{Kind: "ReplicaSet", Namespace: "ns", Name: "web-2"}
	pod := func(name string) trace.Ref { return trace.Ref{Kind: "Pod", Namespace: "ns", Name: name} }
	two, minute := int32(2), time.Minute
	begin := []trace.Event{
		{Seq: 1, Actor: trace.ActorWorld, Object: deployment, Detail: trace.Specified{Replicas: 2, Surge: 1}},
		{Seq: 2, Actor: trace.ActorWorld, Object: old, Detail: trace.Found{Owner: deployment, Replicas: &two}},
		{Seq: 3, Actor: trace.ActorWorld, Object: pod("a"), Detail: trace.Found{Owner: old, Phase: "Running"}},
		{Seq: 4, Actor: trace.ActorWorld, Object: pod("b"), Detail: trace.Found{Owner: old, Phase: "Running"}},
		{Seq: 5, Actor: trace.ActorDeployment, Object: next, Detail: trace.Scaled{Created: true, To: 1, Owner: deployment}},
		{Seq: 6, Actor: trace.ActorReplicaSet, Object: pod("c"), Detail: trace.Created{Owner: next}},
	}
	tests := map[string]struct {
		event trace.Event
		want  error
	}{
		"a step in the budget": {trace.Event{Seq: 7, Offset: minute, Actor: trace.ActorDeployment, Object: old, Detail: trace.Scaled{From: 2, To: 1, Owner: deployment}}, nil},
		"over the budget":      {trace.Event{Seq: 7, Offset: minute, Actor: trace.ActorDeployment, Object: next, Detail: trace.Scaled{From: 1, To: 2, Why: trace.Room, Owner: deployment}}, errBudget},
		"a pod too many":       {trace.Event{Seq: 7, Offset: minute, Actor: trace.ActorReplicaSet, Object: pod("d"), Detail: trace.Created{Owner: next}}, errPods},
		"cause after effect":   {trace.Event{Seq: 7, Cause: 8, Object: next, Detail: trace.Enqueued{}}, errOrder},
		"time runs back":       {trace.Event{Seq: 7, Offset: -1, Object: next, Detail: trace.Enqueued{}}, errOrder},
		"a number twice":       {trace.Event{Seq: 6, Object: next, Detail: trace.Enqueued{}}, errOrder},
	}
	for name, test := range tests {
		if err := Check(append(begin[:len(begin):len(begin)], test.event)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
