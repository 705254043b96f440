package trace

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// samples has one event of each type with every field set.
func samples() []Event {
	pod := Ref{"Pod", "default", "web-1-abc"}
	rs := Ref{"ReplicaSet", "default", "web-1"}
	n32, n64 := int32(3), int64(30)
	terms := []Term{{"desired", 10}, {"pods", -8}}
	all := []Detail{
		Found{Owner: rs, Replicas: &n32, Revision: "1", Hash: "h", Phase: "Running", Node: "n1", Ready: true, ReadySeconds: 1.5, Available: true},
		Specified{2, 10, "RollingUpdate", "25%", "25%", 3, 2, 8, 5, &n32, true, "1", "web-1"},
		Ended{"Complete"},
		Changed{"update", []Field{{"spec.a[0]", "spec.a[x]", "1", "2"}}},
		Delivered{"MODIFIED", "12"},
		Enqueued{},
		Requeued{1500 * time.Millisecond, "Error"},
		SyncBegan{2},
		SyncEnded{"conflict"},
		Budgeted{Room, terms, 2},
		Held{Surplus, terms, 2},
		Scaled{1, 2, Room, true, "2", "h", rs},
		Created{rs, "Wanted"},
		Deleted{rs, "Ranked", &Rank{"NotReady", "false", "true", "web-1-xyz", 2}, &n64},
		Removed{rs},
		Wrote{"update", "status", "13", 409, "conflict"},
		Rejected{"quota", "exceeded"},
		Scheduled{"n1"},
		Unschedulable{"0/1", map[string]string{"n1": "cpu"}, map[string]string{"cpu": "500m"}},
		PodChanged{rs, "Running", true, "x", true},
		Exited{"app", 1, "Error", 3},
		Evicted{"taint", "gone"},
		Heartbeat{"Missed"},
		Tainted{"node.kubernetes.io/unreachable:NoExecute", true},
		StatusChanged{2, 10, 3, 9, 8, 1, &n32},
		ConditionChanged{"Progressing", "False", "ProgressDeadlineExceeded", "m"},
		Recorded{"Warning", "FailedCreate", "m"},
		Adopted{rs},
		Released{rs},
	}
	var events []Event
	for i, d := range all {
		events = append(events, Event{Seq(i + 2), Seq(i + 1), 34 * time.Millisecond, "deployment", "n9", pod, d})
	}
	return events
}

// declaredDetails are the types of detail.go that have a Type method.
func declaredDetails(t *testing.T) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "detail.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Type" {
			found[f.Recv.List[0].Type.(*ast.Ident).Name] = true
		}
	}
	return found
}

func TestEveryDetailIsInTheSetAndSampled(t *testing.T) {
	declared := declaredDetails(t)
	inSet, sampled := map[string]bool{}, map[string]bool{}
	for _, d := range details {
		inSet[d.Type()] = true
	}
	for _, e := range samples() {
		sampled[e.Detail.Type()] = true
	}
	if diff := cmp.Diff(declared, inSet); diff != "" {
		t.Errorf("detail.go against the set in json.go:\n%s", diff)
	}
	if diff := cmp.Diff(declared, sampled); diff != "" {
		t.Errorf("detail.go against the samples of this test:\n%s", diff)
	}
}

func TestEventsRoundTrip(t *testing.T) {
	for _, want := range samples() {
		for i := range reflect.ValueOf(want.Detail).NumField() {
			if reflect.ValueOf(want.Detail).Field(i).IsZero() {
				t.Errorf("%s: the sample leaves field %d empty", want.Detail.Type(), i)
			}
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Event
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", data, diff)
		}
	}
}

func TestNoDetailHidesAHeaderField(t *testing.T) {
	names := map[string]bool{}
	for i := range reflect.TypeFor[header]().NumField() {
		names[jsonName(reflect.TypeFor[header]().Field(i))] = true
	}
	for _, d := range details {
		for i := range reflect.TypeOf(d).NumField() {
			if name := jsonName(reflect.TypeOf(d).Field(i)); names[name] {
				t.Errorf("%s has a field %q, which every event has already", d.Type(), name)
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func TestEventJSON(t *testing.T) {
	e := Event{Seq: 12, Cause: 9, Offset: 34 * time.Millisecond, Actor: ActorDeployment,
		Object: Ref{"ReplicaSet", "default", "web-68fc54fc7c"}, Detail: Scaled{From: 10, To: 8, Why: Surplus}}
	want := `{"seq":12,"cause":9,"offsetSeconds":0.034,"actor":"deployment",` +
		`"object":{"kind":"ReplicaSet","namespace":"default","name":"web-68fc54fc7c"},"type":"Scaled","from":10,"to":8,"why":"Surplus"}`
	got, err := json.Marshal(e)
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	for _, bad := range []string{`{"seq":1,"type":"Nope"}`, `{"seq":1,"type":"Scaled","from":"x"}`, `{"seq":1,"type":"Ended","offsetSeconds":"x"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(Event)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if _, err := json.Marshal(Event{Seq: 1}); err == nil {
		t.Error("an event without detail was written")
	}
}

func TestLogRoundTripAndNumbering(t *testing.T) {
	log := NewLog()
	log.Append(Event{Detail: Enqueued{}})
	log.Append(Event{Detail: Ended{"Idle"}})
	data, err := json.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	var again Log
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(log.Events(), again.Events()); diff != "" {
		t.Error(diff)
	}
	if seq := again.Append(Event{Detail: Enqueued{}}); seq != 3 {
		t.Errorf("the next event has number %d, want 3", seq)
	}
	if data, _ := json.Marshal(&Log{}); string(data) != "[]" {
		t.Errorf("an empty log is %s", data)
	}
}

func TestCauses(t *testing.T) {
	x := NewIndex([]Event{
		{Seq: 1, Detail: Changed{}}, {Seq: 2, Cause: 1, Detail: SyncBegan{}},
		{Seq: 4, Cause: 2, Detail: Scaled{}}, {Seq: 5, Cause: 3, Detail: Created{}},
		{Seq: 6, Cause: 6, Detail: Created{}}, {Seq: 7, Cause: 2, Detail: Budgeted{}},
	})
	seqs := func(events []Event) (out []Seq) {
		for _, e := range events {
			out = append(out, e.Seq)
		}
		return out
	}
	if got := seqs(x.Causes(4)); !cmp.Equal(got, []Seq{2, 1}) {
		t.Errorf("causes of 4: %v", got)
	}
	for _, seq := range []Seq{0, 1, 5, 6, 99} { // none, first, not kept, loop, unknown
		if got := x.Causes(seq); got != nil {
			t.Errorf("causes of %d: %v", seq, seqs(got))
		}
	}
	if got := seqs(x.Effects(2)); !cmp.Equal(got, []Seq{4, 7}) {
		t.Errorf("effects of 2: %v", got)
	}
}

func TestSecondsAreExact(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 999, time.Microsecond + 1, 51*time.Second + 123456789, 90 * 24 * time.Hour} {
		data, err := json.Marshal(seconds(d))
		if err != nil || strings.ContainsAny(string(data), "eE") {
			t.Fatalf("%d: %s %v", d, data, err)
		}
		var back seconds
		if err := json.Unmarshal(data, &back); err != nil || time.Duration(back) != d {
			t.Errorf("%d became %d through %s", d, back, data)
		}
	}
}

// docs/trace.md is where readers of the JSON look things up: it names every
// type and field.
func TestTheDocumentNamesEverything(t *testing.T) {
	data, err := os.ReadFile("../../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range details {
		if !strings.Contains(string(data), d.Type()) {
			t.Errorf("docs/trace.md does not mention %s", d.Type())
		}
		for i := range reflect.TypeOf(d).NumField() {
			if name := jsonName(reflect.TypeOf(d).Field(i)); !strings.Contains(string(data), "`"+name) {
				t.Errorf("docs/trace.md does not mention %s.%s", d.Type(), name)
			}
		}
	}
}
