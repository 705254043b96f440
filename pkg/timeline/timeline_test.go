package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func only(t *testing.T, events []trace.Event) (*Timeline, *Workload) {
	t.Helper()
	tl := Build(events, Options{})
	if len(tl.Workloads) != 1 {
		t.Fatalf("%d workloads, want 1", len(tl.Workloads))
	}
	return tl, tl.Workloads[0]
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestTotals(t *testing.T) {
	tests := map[string]struct {
		events []trace.Event
		want   Totals
	}{
		"rolling in waves": {eventscript.Rollout(), Totals{
			Created: 10, Deleted: 10, Peak: 13, PeakObjects: 17, PeakObjectsAt: ms(2330),
			Least: 8, LeastAt: ms(45), LongestWait: ms(2210 - 58), CompleteAt: ms(4600), LastMove: ms(4550),
		}},
		"no node for the new pod": {eventscript.Unschedulable(), Totals{
			Created: 1, Peak: 4, PeakObjects: 4, PeakObjectsAt: ms(20), Least: 3, LongestWait: ms(20), CompleteAt: -1, LastMove: ms(20),
		}},
		"a deadline that passes": {eventscript.Deadline(), Totals{
			Created: 2, Deleted: 1, Peak: 5, PeakObjects: 5, PeakObjectsAt: ms(35), Least: 2, LeastAt: ms(40),
			LongestWait: ms(601000 - 40), CompleteAt: -1, LastMove: ms(40),
		}},
		"nothing to do": {eventscript.Nothing(), Totals{Peak: 3, PeakObjects: 3, Least: 3}},
		"minReadySeconds from the whole second": {eventscript.MinReady(), Totals{
			Created: 2, Deleted: 2, Peak: 3, PeakObjects: 4, PeakObjectsAt: ms(11080), Least: 2,
			LongestWait: ms(24000 - 14500), CompleteAt: ms(24110), LastMove: ms(24110),
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tl, w := only(t, test.events)
			if diff := cmp.Diff(test.want, tl.Totals(w)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPodsAreAvailableFromWholeSeconds(t *testing.T) {
	for name, test := range map[string]struct {
		started time.Time
		want    time.Duration
	}{
		"a run that begins on a whole second":    {time.Time{}, ms(11000)},
		"one that begins 300 ms into its second": {time.Date(2026, 1, 2, 3, 4, 5, 3e8, time.UTC), ms(11700)},
	} {
		t.Run(name, func(t *testing.T) {
			w := Build(eventscript.MinReady(), Options{Started: test.started}).Workloads[0]
			before, after := w.At(test.want-1), w.At(test.want)
			if before.Available+1 != after.Available || before.Ready != after.Ready {
				t.Errorf("before %+v\nafter %+v", before, after)
			}
		})
	}
}

func TestCountsAfterEachScaling(t *testing.T) {
	tl, w := only(t, eventscript.Rollout())
	var got [][3]int32
	for _, e := range tl.Events {
		switch e.Detail.(type) {
		case trace.Changed:
			c := w.AfterChange(e)
			got = append(got, [3]int32{c.Old, c.New, c.Available})
		case trace.Scaled:
			c := w.After(e)
			got = append(got, [3]int32{c.Old, c.New, c.Available})
		}
	}
	want := [][3]int32{{10, 0, 10}, {10, 3, 10}, {8, 3, 10}, {8, 5, 8}, {7, 5, 9}, {7, 6, 8}, {3, 6, 12}, {3, 10, 8}, {0, 10, 13}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVerdicts(t *testing.T) {
	tests := map[string]struct {
		events  []trace.Event
		verdict v1alpha1.Verdict
		seconds float64
		reasons []v1alpha1.Reason
	}{
		"complete": {eventscript.Rollout(), v1alpha1.Complete, 4.6, []v1alpha1.Reason{}},
		"unschedulable": {eventscript.Unschedulable(), v1alpha1.Stuck, 0.02, []v1alpha1.Reason{{
			Type: "Unschedulable", Object: trace.Ref{Kind: "Pod"},
			Remedy: "needs 500m cpu on one node; or allow maxUnavailable 1 or Recreate: no old pod may go before a new one is ready"}}},
		"deadline": {eventscript.Deadline(), v1alpha1.DeadlineExceeded, 601, []v1alpha1.Reason{{
			Type: "ImagePullBackOff", Object: trace.Ref{Kind: "ReplicaSet"},
			Remedy: `see that image "nginx:1.26" exists and the node may pull it; or go back: kubectl rollout undo deployment/web`}}},
		"quota": {eventscript.Quota(), v1alpha1.LimitReached, 600, []v1alpha1.Reason{{
			Type: "FailedCreate", Object: trace.Ref{Kind: "ReplicaSet"},
			Remedy:       `quota "team" is full: pods 12/12; or allow maxUnavailable 1 or Recreate: no old pod may go before a new one is ready`,
			TriedSeconds: []float64{0.015, 0.02, 0.03, 0.05, 0.09, 0.17}}}},
		"paused": {eventscript.Paused(), v1alpha1.Paused, 0, []v1alpha1.Reason{{
			Type: "Paused", Object: trace.Ref{Kind: "Deployment"}, Remedy: "kubectl rollout resume deployment/web"}}},
		"only labels":          {eventscript.Nothing(), v1alpha1.NothingToDo, 0, []v1alpha1.Reason{{Type: "MetadataOnly", Object: trace.Ref{Kind: "Deployment"}}}},
		"a ReplicaSet's image": {eventscript.Bare(), v1alpha1.NothingToDo, 0, []v1alpha1.Reason{{Type: "BareReplicaSet", Object: trace.Ref{Kind: "ReplicaSet"}, Remedy: "delete its pods one by one, or let a Deployment own the template"}}},
		"a ReplicaSet's size":  {eventscript.BareScaled(), v1alpha1.Complete, 2.5, []v1alpha1.Reason{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := NewPlan(v1alpha1.RolloutPlanSpec{}, test.events)
			s := plan.Status.Workloads[0]
			for i := range s.Reasons {
				s.Reasons[i].Message, s.Reasons[i].Object = "", trace.Ref{Kind: s.Reasons[i].Object.Kind}
			}
			if s.Verdict != test.verdict || s.DurationSeconds != test.seconds {
				t.Errorf("%s after %gs, want %s after %gs", s.Verdict, s.DurationSeconds, test.verdict, test.seconds)
			}
			if diff := cmp.Diff(test.reasons, s.Reasons); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhyNothingHappens(t *testing.T) {
	for path, want := range map[string]string{
		"":                      "NoChange",
		"metadata.labels.a":     "MetadataOnly",
		"spec.replicas":         "SameReplicas",
		"spec.minReadySeconds":  "SpecOnly",
		"spec.template.spec.dn": "SameTemplate",
	} {
		w := &Workload{Changes: []Change{{Changed: trace.Changed{}}}}
		if path != "" {
			w.Changes[0].Fields = []trace.Field{{Path: path}}
		}
		if got := w.whyNothing().Type; got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
	if got := (&Workload{}).whyNothing(); got.Type != "NoChange" {
		t.Errorf("without a change: %+v", got)
	}
}

func TestRemedies(t *testing.T) {
	for message, want := range map[string]string{
		`pods "a" is forbidden: exceeded quota: q, requested: cpu=1,pods=1, used: cpu=2,pods=9, limited: cpu=2,pods=9`: `quota "q" is full: cpu 2/2, pods 9/9`,
		`pods "a" is forbidden: failed quota: q: must specify limits.cpu for: app; limits.memory for: app`:             `quota "q" wants limits.cpu to be set on container app`,
		`Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: x`:                   `webhook "w.example.com" must answer, or be taken out of the way`,
		"anything else": "",
	} {
		if got := refusalRemedy(message); got != want {
			t.Errorf("%s:\n got %s\nwant %s", message, got, want)
		}
	}
	for message, want := range map[string]string{
		"0/1 nodes are available: 1 Insufficient nvidia.com/gpu.":                                 "needs more free nvidia.com/gpu on one node",
		"0/3 nodes are available: 1 Too many pods, 2 node(s) had untolerated taint {gpu: yes}. x": "needs a toleration for the nodes' taint gpu: yes, or a node with room for one more pod",
		"no nodes available to schedule pods":                                                     "needs a node",
		"0/1 nodes are available: 1 node(s) had untolerated taint(s).":                            "needs a toleration for the nodes' taint",
		"?": "",
	} {
		if got := schedulingRemedy(trace.Unschedulable{Message: message}, nil); got != want {
			t.Errorf("%s:\n got %s\nwant %s", message, got, want)
		}
	}
}

// A host sees a write and the controller reports it: the second telling counts for nothing.
func TestEchoesCountOnce(t *testing.T) {
	events := eventscript.Rollout()
	log := trace.NewLog()
	echoes := 0
	for _, e := range events {
		log.Append(e)
		switch e.Detail.(type) {
		case trace.Scaled, trace.Created, trace.Deleted:
			log.Append(e)
			echoes++
		}
	}
	_, want := only(t, events)
	tl, got := only(t, log.Events())
	if a, b := Build(events, Options{}).Totals(want), tl.Totals(got); a != b {
		t.Errorf("totals differ:\n%s", cmp.Diff(a, b))
	}
	if len(tl.echoes) != echoes {
		t.Errorf("%d echoes, want %d", len(tl.echoes), echoes)
	}
}

// Going back to an old template makes its ReplicaSet the new one, and the pods
// of the failed one old.
func TestUndoTurnsTheSets(t *testing.T) {
	s := eventscript.New("web", eventscript.Rolling(2, 1, 0)).World("web-1", 2)
	s.You("update", func(d *trace.Specified) { d.NewSet = "" })
	s.At(10).Scale("web-2", 1, trace.Room).Create("web-2", 1)
	s.At(20).You("undo", func(d *trace.Specified) { d.NewSet = "web-1" })
	events := s.At(30).Scale("web-2", 0, trace.Unhealthy).Delete("web-2", 1, nil).Remove("web-2", 1).End("Complete")
	tl, w := only(t, events)
	if c := w.At(ms(15)); c.Old != 2 || c.New != 1 || c.Updated != 1 {
		t.Errorf("before the undo: %+v", c)
	}
	if c := w.At(ms(20)); c.Old != 1 || c.New != 2 || c.Updated != 2 {
		t.Errorf("after it: %+v", c)
	}
	if got := tl.Status().Workloads[0]; got.Verdict != v1alpha1.Complete || got.DurationSeconds != 0.03 {
		t.Errorf("%s after %gs", got.Verdict, got.DurationSeconds)
	}
}

// Pods told before their ReplicaSet, and a ReplicaSet before its Deployment, count all the same.
func TestOrderOfTheStartDoesNotMatter(t *testing.T) {
	events := eventscript.Nothing()
	n := 6 // Deployment twice, ReplicaSet, three pods
	swapped := append([]trace.Event{}, events...)
	for i := range n {
		swapped[i] = events[n-1-i]
		swapped[i].Seq = trace.Seq(i + 1)
	}
	tl, w := only(t, swapped)
	if c := w.At(0); c.Active != 3 || c.Available != 3 || c.New != 3 || c.Updated != 3 || len(w.Pods) != 3 {
		t.Errorf("%+v, %d pods", c, len(w.Pods))
	}
	if got := tl.Status().Verdict; got != v1alpha1.NothingToDo {
		t.Errorf("verdict %s", got)
	}
}

func TestReleasedAndAdoptedPods(t *testing.T) {
	s := eventscript.New("web", eventscript.Rolling(2, 1, 0)).World("web-1", 2)
	pod := s.Pods("web-1")[0]
	s.At(10).Do(trace.ActorReplicaSet, pod, trace.Released{Owner: s.Set("web-1")})
	s.At(20).Do(trace.ActorReplicaSet, pod, trace.Adopted{Owner: s.Set("web-1")})
	_, w := only(t, s.At(30).End("Limit"))
	if a, b := w.At(ms(10)), w.At(ms(20)); a.Active != 1 || b.Active != 2 || b.Available != 2 {
		t.Errorf("released %+v\nadopted %+v", a, b)
	}
}

func TestWorkloadsAsked(t *testing.T) {
	other := trace.Ref{Kind: "Deployment", Namespace: "default", Name: "other"}
	web := trace.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	tl := Build(eventscript.Rollout(), Options{Workloads: []trace.Ref{other, web}})
	if len(tl.Workloads) != 2 || tl.Workloads[0].Object != other || tl.Workloads[1].Object != web {
		t.Errorf("%d workloads", len(tl.Workloads))
	}
	if got := tl.Status(); got.Verdict != v1alpha1.LimitReached && got.Verdict != v1alpha1.Stuck {
		t.Errorf("a workload the trace does not know is %s", got.Verdict)
	}
	if got := Build(nil, Options{}).Status(); got.Verdict != v1alpha1.NothingToDo || len(got.Workloads) != 0 {
		t.Errorf("of no events: %+v", got)
	}
}
