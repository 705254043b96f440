package spans

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var rewrite = flag.Bool("rewrite", false, "write what is seen as what is wanted")

func plan(events []trace.Event) *v1alpha1.RolloutPlan {
	start := metav1.NewMicroTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return timeline.NewPlan(v1alpha1.RolloutPlanSpec{Seed: 1, KubernetesVersion: "v1.37", StartTime: &start}, events)
}

// passes is two passes at once, of which one makes a ReplicaSet, and what that brings about.
func passes() []trace.Event {
	s := eventscript.New("web", eventscript.Rolling(1, 1, 0))
	s.You("create", func(*trace.Specified) {})
	do := func(cause trace.Seq, ms int, actor string, object trace.Ref, d trace.Detail) trace.Seq {
		return s.Log.Append(trace.Event{Cause: cause, Offset: time.Duration(ms) * time.Millisecond, Actor: actor, Object: object, Detail: d})
	}
	other := trace.Ref{Kind: "Deployment", Namespace: "default", Name: "other"}
	changed := s.Log.Events()[0].Seq
	seen := do(changed, 1, trace.ActorDeployment, s.Owner, trace.Delivered{Watch: "ADDED", ResourceVersion: "2"})
	queued := do(seen, 1, trace.ActorDeployment, s.Owner, trace.Enqueued{})
	pass := do(queued, 2, trace.ActorDeployment, s.Owner, trace.SyncBegan{})
	beside := do(queued, 2, trace.ActorDeployment, other, trace.SyncBegan{})
	room := do(pass, 2, trace.ActorDeployment, s.Set("web-1"), trace.Budgeted{Rule: trace.Room, Terms: []trace.Term{{Name: "desired", Value: 1}}, Result: 1})
	wrote := do(room, 5, trace.ActorDeployment, s.Set("web-1"), trace.Wrote{Verb: "create", ResourceVersion: "3", Code: 201})
	do(room, 5, trace.ActorDeployment, s.Set("web-1"), trace.Scaled{To: 1, Why: trace.Room, Created: true, Owner: s.Owner})
	do(beside, 6, trace.ActorDeployment, other, trace.SyncEnded{Error: "conflict"})
	set := do(wrote, 7, trace.ActorReplicaSet, s.Set("web-1"), trace.Delivered{Watch: "ADDED", ResourceVersion: "3"})
	made := do(do(do(set, 7, trace.ActorReplicaSet, s.Set("web-1"), trace.Enqueued{}), 8, trace.ActorReplicaSet, s.Set("web-1"), trace.SyncBegan{}),
		10, trace.ActorReplicaSet, trace.Ref{Kind: "Pod", Namespace: "default", Name: "web-1-a"}, trace.Created{Owner: s.Set("web-1")})
	s.Log.Append(trace.Event{Cause: made, Offset: 2 * time.Second, Actor: trace.ActorKubelet, Node: "node-1",
		Object: trace.Ref{Kind: "Pod", Namespace: "default", Name: "web-1-a"}, Detail: trace.PodChanged{Owner: s.Set("web-1"), Phase: "Running", Ready: true}})
	return s.At(2100).End("Complete")
}

func golden(t *testing.T, name string, write func(io.Writer, *v1alpha1.RolloutPlan) error, events []trace.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, plan(events)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s:\n%s", path, diff)
	}
	return b.Bytes()
}

type chromeFile struct {
	TraceEvents []struct {
		Ph, Name, Cat string
		Pid, Tid, ID  int
		Ts, Dur       float64
		Args          map[string]any
	}
}

// Slices of one thread never cross, every thread has a name, and every arrow
// begins and ends inside a slice.
func TestChrome(t *testing.T) {
	golden(t, "passes.json", Chrome, passes())
	for _, s := range append(eventscript.Stories(), eventscript.Story{Name: "passes", Events: passes()}) {
		var b bytes.Buffer
		if err := Chrome(&b, plan(s.Events)); err != nil {
			t.Fatal(err)
		}
		var file chromeFile
		if err := json.Unmarshal(b.Bytes(), &file); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		checkChrome(t, s.Name, file)
	}
}

func checkChrome(t *testing.T, name string, file chromeFile) {
	t.Helper()
	type stretch struct{ from, to float64 }
	threads, named := map[int][]stretch{}, map[int]bool{}
	ends := map[int]string{}
	for _, e := range file.TraceEvents {
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				named[e.Tid] = true
			}
		case "X":
			is := stretch{e.Ts, e.Ts + e.Dur}
			for _, was := range threads[e.Tid] {
				const rounding = 1e-6
				apart := is.from >= was.to-rounding || is.to <= was.from+rounding
				if inside := is.from >= was.from-rounding && is.to <= was.to+rounding; !apart && !inside {
					t.Fatalf("%s: slice %q at %v crosses %v on its thread", name, e.Name, is, was)
				}
			}
			threads[e.Tid] = append(threads[e.Tid], is)
			if !named[e.Tid] || e.Dur <= 0 {
				t.Fatalf("%s: slice %q is on thread %d without a name, or takes %g", name, e.Name, e.Tid, e.Dur)
			}
		case "s", "f":
			ends[e.ID] += e.Ph
			found := false
			for _, in := range threads[e.Tid] {
				found = found || in.from < e.Ts && e.Ts < in.to
			}
			if !found {
				t.Fatalf("%s: the arrow %d ends outside of any slice", name, e.ID)
			}
		}
	}
	for id, both := range ends {
		if both != "sf" {
			t.Errorf("%s: arrow %d has the ends %q", name, id, both)
		}
	}
}

// Spans are what collectors take: ids of their lengths, parents and links that
// exist, times in order.
func TestOTLP(t *testing.T) {
	data := golden(t, "passes.otlp.json", OTLP, passes())
	var file otlpTraces
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ids, services := map[string]bool{}, map[string]bool{}
	var spans []*otlpSpan
	for _, r := range file.ResourceSpans {
		services[r.Resource.Attributes[0].Value.String] = true
		spans = append(spans, r.ScopeSpans[0].Spans...)
	}
	for _, s := range spans {
		if len(s.TraceID) != 32 || len(s.SpanID) != 16 || ids[s.SpanID] {
			t.Errorf("span %q has the ids %s, %s", s.Name, s.TraceID, s.SpanID)
		}
		ids[s.SpanID] = true
	}
	links := 0
	for _, s := range spans {
		if s.ParentID != "" && !ids[s.ParentID] {
			t.Errorf("span %q has no parent", s.Name)
		}
		for _, l := range s.Links {
			links++
			if !ids[l.SpanID] {
				t.Errorf("span %q is linked to none", s.Name)
			}
		}
		start, err1 := strconv.ParseInt(s.Start, 10, 64)
		end, err2 := strconv.ParseInt(s.End, 10, 64)
		if err1 != nil || err2 != nil || start > end || start < time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() {
			t.Errorf("span %q lasts from %s to %s", s.Name, s.Start, s.End)
		}
	}
	for _, want := range []string{"rollout-sim", trace.ActorYou, trace.ActorDeployment, trace.ActorReplicaSet, trace.ActorKubelet, "pod"} {
		if !services[want] {
			t.Errorf("no spans of %s", want)
		}
	}
	if links < 5 {
		t.Errorf("%d links", links)
	}
}
