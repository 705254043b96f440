package timeline

import (
	"strings"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// TestDiverged: waves that split and come late keep to a plan; other sizes,
// steps that are left out and another end do not.
func TestDiverged(t *testing.T) {
	web := trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
	one, two := trace.Ref{Kind: "ReplicaSet", Namespace: "team", Name: "web-1"}, trace.Ref{Kind: "ReplicaSet", Namespace: "team", Name: "web-2"}
	p := &v1alpha1.Predicted{Verdict: v1alpha1.LimitReached, Steps: []v1alpha1.PredictedStep{
		{OffsetSeconds: 0.1, ReplicaSet: two, Workload: web, From: 0, To: 4, New: true},
		{OffsetSeconds: 2, ReplicaSet: one, Workload: web, From: 4, To: 0},
	}}
	type step struct {
		ms       int
		set      trace.Ref
		from, to int32
	}
	tests := map[string]struct {
		steps   []step
		verdict v1alpha1.Verdict // planned
		want    string           // in the message; empty for none
		at      float64
	}{
		"split and late":  {[]step{{100, two, 0, 1}, {900, two, 1, 4}, {5000, one, 4, 2}, {9000, one, 2, 0}}, v1alpha1.LimitReached, "", 0},
		"too many":        {[]step{{100, two, 0, 5}}, v1alpha1.LimitReached, "web-2 was scaled 0 -> 5, which was not planned; planned was web-2 0 -> 4 at 0.100s", 0.1},
		"back again":      {[]step{{100, two, 0, 4}, {500, two, 4, 3}}, v1alpha1.LimitReached, "web-2 was scaled 4 -> 3, which was not planned; planned was web-1 4 -> 0", 0.5},
		"left out":        {[]step{{100, two, 0, 4}}, v1alpha1.LimitReached, "planned was web-1 4 -> 0 at 2.000s, which did not happen", 2},
		"another verdict": {[]step{{100, two, 0, 4}, {2000, one, 4, 0}}, v1alpha1.Complete, "it ended as LimitReached, planned was Complete", 2},
	}
	for name, test := range tests {
		four, seq := int32(4), trace.Seq(0)
		var events []trace.Event
		say := func(ms int, at trace.Ref, actor string, d trace.Detail) {
			seq++
			events = append(events, trace.Event{Seq: seq, Offset: time.Duration(ms) * time.Millisecond, Actor: actor, Object: at, Detail: d})
		}
		say(0, web, trace.ActorWorld, trace.Specified{Generation: 1, Replicas: 4, NewSet: "web-1"})
		say(0, web, trace.ActorWorld, trace.Found{Replicas: &four})
		say(0, one, trace.ActorWorld, trace.Found{Owner: web, Replicas: &four})
		say(0, web, trace.ActorYou, trace.Specified{Generation: 2, Replicas: 4})
		for _, s := range test.steps {
			say(s.ms, s.set, trace.ActorDeployment, trace.Scaled{From: s.from, To: s.to, Created: s.from == 0, Owner: web})
		}
		p.Verdict = test.verdict
		d := Build(events, Options{}).Diverged(p)
		switch {
		case d == nil && test.want == "":
		case d == nil || test.want == "" || !strings.Contains(d.Message, test.want) || d.OffsetSeconds != test.at:
			t.Errorf("%s: %+v, want %q at %g", name, d, test.want, test.at)
		}
	}
	if d := Build(nil, Options{}).Diverged(nil); d != nil {
		t.Errorf("without a plan: %+v", d)
	}
}
