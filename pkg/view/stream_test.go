package view

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

func TestStream(t *testing.T) {
	var b bytes.Buffer
	for _, depth := range []struct {
		name  string
		depth trace.Depth
	}{{"decisions", trace.Decisions}, {"pods", trace.Pods}} {
		b.Reset()
		s := NewStream(&b, Options{Color: Never, Detail: depth.depth})
		for _, e := range eventscript.Unschedulable() {
			if err := s.Event(e); err != nil {
				t.Fatal(err)
			}
		}
		golden(t, "stream-"+depth.name+".txt", b.String())
	}
}

func TestStreamSyncs(t *testing.T) {
	var b bytes.Buffer
	s := NewStream(&b, Options{Color: Never, Detail: trace.Syncs})
	web := trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
	set := trace.Ref{Kind: "ReplicaSet", Namespace: "team", Name: "web-1"}
	for i, e := range []trace.Event{
		{Actor: "deployment", Object: web, Detail: trace.Delivered{Watch: "MODIFIED", ResourceVersion: "12"}},
		{Actor: "deployment", Object: web, Detail: trace.Enqueued{}},
		{Actor: "deployment", Object: web, Detail: trace.SyncBegan{Requeues: 1}},
		{Actor: "deployment", Object: set, Detail: trace.Budgeted{Rule: trace.Room, Terms: []trace.Term{{Name: "desired", Value: 10}, {Name: "surge", Value: 3}, {Name: "pods", Value: -10}}, Result: 3}},
		{Cause: 4, Actor: "deployment", Object: set, Detail: trace.Scaled{From: 0, To: 3, Why: trace.Room}},
		{Cause: 4, Actor: "deployment", Object: set, Detail: trace.Wrote{Verb: "update", Code: 409, Error: "conflict"}},
		{Actor: "deployment", Object: web, Detail: trace.SyncEnded{Error: "conflict\x1b[31m"}},
	} {
		e.Seq, e.Offset = trace.Seq(i+1), time.Duration(i)*1500*time.Microsecond
		if err := s.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "stream-syncs.txt", b.String())
}

// What is written to a closed pipe is an error, once and for all.
func TestStreamError(t *testing.T) {
	s := NewStream(broken{}, Options{Color: Never})
	e := trace.Event{Seq: 1, Detail: trace.Changed{Verb: "create"}}
	for range 2 {
		if err := s.Event(e); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("got %v, want the writer's error", err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("closed") }
