package timeline

import (
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// A plan of two waves, and a rollout that takes other steps to the same sizes:
// how late each is, and which planned step comes next.
func TestAgainstPlan(t *testing.T) {
	web := trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
	old := trace.Ref{Kind: "ReplicaSet", Namespace: "team", Name: "web-1"}
	planned := trace.Ref{Kind: "ReplicaSet", Namespace: "team", Name: "web-2"}
	real := trace.Ref{Kind: "ReplicaSet", Namespace: "team", Name: "web-3"} // a restart's hash has the time in it
	p := &v1alpha1.Predicted{Steps: []v1alpha1.PredictedStep{
		{OffsetSeconds: 0.1, ReplicaSet: planned, Workload: web, From: 0, To: 4, New: true},
		{OffsetSeconds: 2, ReplicaSet: old, Workload: web, From: 4, To: 0},
	}}
	four, seq := int32(4), trace.Seq(0)
	var events []trace.Event
	say := func(ms int, at trace.Ref, actor string, d trace.Detail) trace.Event {
		seq++
		e := trace.Event{Seq: seq, Offset: time.Duration(ms) * time.Millisecond, Actor: actor, Object: at, Detail: d}
		events = append(events, e)
		return e
	}
	say(0, web, trace.ActorWorld, trace.Specified{Generation: 1, Replicas: 4, NewSet: "web-1"})
	say(0, web, trace.ActorWorld, trace.Found{Replicas: &four})
	say(0, old, trace.ActorWorld, trace.Found{Owner: web, Replicas: &four})
	say(0, web, trace.ActorYou, trace.Specified{Generation: 2, Replicas: 4}) // another template: no ReplicaSet has it yet
	next := func() string {
		s, ok := Build(events, Options{}).Next(p)
		if !ok {
			return "none"
		}
		return s.ReplicaSet.Name
	}
	if got := next(); got != "web-2" {
		t.Errorf("next is %s, want web-2", got)
	}
	for _, c := range []struct {
		ms       int
		set      trace.Ref
		from, to int32
		late     time.Duration
		next     string
	}{
		{150, real, 0, 3, 50 * time.Millisecond, "web-2"},
		{200, real, 3, 4, 100 * time.Millisecond, "web-1"},
		{1500, old, 4, 2, -500 * time.Millisecond, "web-1"},
		{2500, old, 2, 0, 500 * time.Millisecond, "none"},
	} {
		e := say(c.ms, c.set, trace.ActorDeployment, trace.Scaled{From: c.from, To: c.to, Created: c.from == 0, Owner: web})
		late, known := Build(events, Options{}).Deviation(p, e)
		if !known || late != c.late {
			t.Errorf("%d -> %d is %s late (%t), want %s", c.from, c.to, late, known, c.late)
		}
		if got := next(); got != c.next {
			t.Errorf("after %d -> %d, next is %s, want %s", c.from, c.to, got, c.next)
		}
	}
	e := say(3000, real, trace.ActorDeployment, trace.Scaled{From: 4, To: 6, Owner: web})
	if _, known := Build(events, Options{}).Deviation(p, e); known {
		t.Error("a step beyond the plan has no place in it")
	}
}
