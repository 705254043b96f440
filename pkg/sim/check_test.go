package sim

import (
	"errors"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// A ReplicaSet that was let go counts in no Deployment's budget.
func TestCheckForgetsReleasedSets(t *testing.T) {
	deployment := trace.Ref{Kind: "Deployment", Namespace: "ns", Name: "web"}
	old, next := trace.Ref{Kind: "ReplicaSet", Namespace: "ns", Name: "web-1"}, trace.Ref{Kind: "ReplicaSet", Namespace: "ns", Name: "web-2"}
	one := int32(1)
	err := Check([]trace.Event{
		{Seq: 1, Actor: trace.ActorWorld, Object: deployment, Detail: trace.Specified{Replicas: 1}},
		{Seq: 2, Actor: trace.ActorWorld, Object: old, Detail: trace.Found{Owner: deployment, Replicas: &one}},
		{Seq: 3, Actor: trace.ActorDeployment, Object: old, Detail: trace.Released{Owner: deployment}},
		{Seq: 4, Actor: trace.ActorDeployment, Object: next, Detail: trace.Scaled{Created: true, Owner: deployment}},
		{Seq: 5, Offset: time.Minute, Actor: trace.ActorDeployment, Object: next, Detail: trace.Scaled{To: 1, Why: trace.Room, Owner: deployment}},
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCheckKnowsOthersHands: people take pods away, give them and bring them
// back; what a ReplicaSet makes then is not its mistake.
func TestCheckKnowsOthersHands(t *testing.T) {
	web, one := trace.Ref{Kind: "ReplicaSet", Namespace: "ns", Name: "web"}, int32(1)
	pod := func(name string) trace.Ref { return trace.Ref{Kind: "Pod", Namespace: "ns", Name: name} }
	changed := func(name, phase string, owner trace.Ref) trace.Event {
		return trace.Event{Actor: trace.ActorYou, Object: pod(name), Detail: trace.PodChanged{Owner: owner, Phase: phase}}
	}
	made := func(name string) trace.Event {
		return trace.Event{Actor: trace.ActorReplicaSet, Object: pod(name), Detail: trace.Created{Owner: web}}
	}
	removed := trace.Event{Actor: trace.ActorYou, Object: web, Detail: trace.Removed{}}
	again := trace.Event{Actor: trace.ActorDeployment, Object: web, Detail: trace.Scaled{Created: true, To: 1}}
	later := func(e trace.Event) trace.Event { e.Offset = time.Minute; return e }
	tests := map[string]struct {
		events []trace.Event
		want   error
	}{
		"a pod for one given away":         {[]trace.Event{changed("a", "Running", trace.Ref{Kind: "Thing", Name: "it"}), made("b")}, nil},
		"a pod for one that came back":     {[]trace.Event{changed("a", "Failed", web), changed("a", "Running", web), made("b")}, nil},
		"two for one that came back":       {[]trace.Event{changed("a", "Failed", web), changed("a", "Running", web), made("b"), made("c")}, errPods},
		"a pod beside one given long ago":  {[]trace.Event{changed("a", "Failed", web), changed("x", "Running", web), later(changed("x", "Failed", web)), later(made("b")), later(made("c"))}, errPods},
		"one for another of that name":     {[]trace.Event{removed, again, made("b")}, nil},
		"three for another of that name":   {[]trace.Event{removed, again, made("b"), made("c"), made("d")}, errPods},
		"a pod beside one that stays here": {[]trace.Event{changed("a", "Running", web), made("b")}, errPods},
	}
	for name, test := range tests {
		events := []trace.Event{
			{Actor: trace.ActorWorld, Object: web, Detail: trace.Found{Replicas: &one}},
			{Actor: trace.ActorWorld, Object: pod("a"), Detail: trace.Found{Owner: web, Phase: "Running"}},
		}
		events = append(events, test.events...)
		for i := range events {
			events[i].Seq = trace.Seq(i + 1)
		}
		if err := Check(events); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestCheckFollowsHandedSets: a ReplicaSet that a person gives to another
// controller counts in that one's budget only, as soon as caches know.
func TestCheckFollowsHandedSets(t *testing.T) {
	ref := func(kind, name string) trace.Ref { return trace.Ref{Kind: kind, Namespace: "ns", Name: name} }
	web, api, thing := ref("Deployment", "web"), ref("Deployment", "api"), ref("Thing", "it")
	old, next, others := ref("ReplicaSet", "web-1"), ref("ReplicaSet", "web-2"), ref("ReplicaSet", "api-1")
	one, minute := int32(1), time.Minute
	owners := map[bool]trace.Ref{true: api, false: web}
	for _, test := range []struct {
		to     trace.Ref
		scaled trace.Ref
		want   error
	}{{thing, next, nil}, {api, next, nil}, {web, next, errBudget}, {api, others, errBudget}, {thing, others, nil}} {
		err := Check([]trace.Event{
			{Seq: 1, Actor: trace.ActorWorld, Object: web, Detail: trace.Specified{Replicas: 1}},
			{Seq: 2, Actor: trace.ActorWorld, Object: api, Detail: trace.Specified{Replicas: 1}},
			{Seq: 3, Actor: trace.ActorWorld, Object: old, Detail: trace.Found{Owner: web, Replicas: &one}},
			{Seq: 4, Actor: trace.ActorWorld, Object: next, Detail: trace.Found{Owner: web, Replicas: new(int32)}},
			{Seq: 5, Actor: trace.ActorWorld, Object: others, Detail: trace.Found{Owner: api, Replicas: new(int32)}},
			{Seq: 6, Actor: trace.ActorYou, Object: old, Detail: trace.Released{Owner: web}},
			{Seq: 7, Actor: trace.ActorYou, Object: old, Detail: trace.Adopted{Owner: test.to}},
			{Seq: 8, Offset: minute, Actor: trace.ActorDeployment, Object: test.scaled, Detail: trace.Scaled{To: 1, Why: trace.Room, Owner: owners[test.scaled == others]}},
		})
		if !errors.Is(err, test.want) {
			t.Errorf("given to %s, %s scaled: %v, want %v", test.to, test.scaled, err, test.want)
		}
	}
}

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
