package replicaset

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

var (
	memoryKey = engine.Key{Namespace: namespace, Name: "web"}
	memoryNow = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
)

func podKey(name string) engine.Key { return engine.Key{Namespace: namespace, Name: name} }

func TestDeletionsCountOncePerPod(t *testing.T) {
	e := newExpectations()
	e.expectDeletions(memoryKey, []engine.Key{podKey("a"), podKey("b"), podKey("a")}, memoryNow)
	e.deletionSeen(memoryKey, podKey("a"))
	e.deletionSeen(memoryKey, podKey("a"))
	e.deletionSeen(memoryKey, podKey("other"))
	if got := e.state(memoryKey, memoryNow); got != (expected{deletions: 1}) {
		t.Errorf("after a: %+v", got)
	}
	e.deletionSeen(memoryKey, podKey("b"))
	if got := e.state(memoryKey, memoryNow); !got.ok {
		t.Errorf("after b: %+v", got)
	}
}

// A deletion expected before creations were expected may still come in, and
// must not make up for a creation.
func TestALateDeletionIsNoCreation(t *testing.T) {
	e := newExpectations()
	e.expectDeletions(memoryKey, []engine.Key{podKey("a")}, memoryNow)
	e.expectCreations(memoryKey, 1, memoryNow)
	e.deletionSeen(memoryKey, podKey("a"))
	if got := e.state(memoryKey, memoryNow); got != (expected{creations: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestExpectationsEnd(t *testing.T) {
	e := newExpectations()
	e.creationsSeen(memoryKey, 1) // nobody expects anything
	if got := e.state(memoryKey, memoryNow); !got.ok {
		t.Errorf("nothing expected: %+v", got)
	}
	e.expectCreations(memoryKey, 1, memoryNow)
	if e.state(memoryKey, memoryNow.Add(5*time.Minute)).ok {
		t.Error("satisfied at five minutes")
	}
	if !e.state(memoryKey, memoryNow.Add(5*time.Minute+1)).ok {
		t.Error("not satisfied after five minutes")
	}
	e.creationsSeen(memoryKey, 3)
	if got := e.state(memoryKey, memoryNow); got != (expected{ok: true}) {
		t.Errorf("more seen than expected: %+v", got)
	}
	e.expectDeletions(memoryKey, []engine.Key{podKey("a")}, memoryNow)
	e.forget(memoryKey)
	if !e.state(memoryKey, memoryNow).ok {
		t.Error("forgotten and still expected")
	}
}

func TestReadingOwnWrites(t *testing.T) {
	tests := map[string]struct {
		pods, sets string // read so far
		want       error
	}{
		"both seen":               {"12", "9", nil},
		"later ones too":          {"100", "100", nil},
		"pods lag":                {"11", "9", &StaleReadError{Resource: "pods", Read: "11", Wrote: "12"}},
		"numbers, not strings":    {"2", "9", &StaleReadError{Resource: "pods", Read: "2", Wrote: "12"}},
		"the status lags":         {"12", "8", &StaleReadError{Resource: "replicasets.apps", Read: "8", Wrote: "9"}},
		"nothing known of a read": {"", "", nil},
		"not a version":           {"x", "9", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, world := newWrites(), newWorld(rollout.LatestVersion)
			w.wrotePod(memoryKey, "uid", "12")
			w.wrotePod(memoryKey, "uid", "10")
			w.wroteReplicaSet(memoryKey, "uid", "9")
			world.synced = map[string]string{podsResource: tc.pods, replicaSetsResource: tc.sets}
			err := w.seen(fakeCache{world}, memoryKey)
			var stale *StaleReadError
			switch {
			case tc.want == nil && err != nil:
				t.Fatal(err)
			case tc.want != nil && (!errors.As(err, &stale) || stale.Error() != tc.want.Error()):
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if forgotten := w.of[memoryKey] == nil; forgotten != (err == nil) {
				t.Errorf("forgotten %v", forgotten)
			}
		})
	}
}

func TestWritesOfAnotherOfTheSameName(t *testing.T) {
	w, world := newWrites(), newWorld(rollout.LatestVersion)
	world.synced = map[string]string{podsResource: "5"}
	w.wrotePod(memoryKey, "old", "12")
	w.wrotePod(memoryKey, "new", "4")
	w.forget(memoryKey, "old")
	if w.of[memoryKey] == nil {
		t.Error("the record of another UID was forgotten")
	}
	if err := w.seen(fakeCache{world}, memoryKey); err != nil {
		t.Error(err)
	}
	w.wrotePod(memoryKey, "new", "12")
	w.forget(memoryKey, "")
	if err := w.seen(fakeCache{world}, memoryKey); err != nil {
		t.Error(err)
	}
}

// Whatever order they are told in, the newest write is what is waited for.
func TestTheNewestWriteCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newest := 0
		record := ""
		for _, v := range rapid.SliceOf(rapid.IntRange(1, 1<<40)).Draw(t, "versions") {
			newest = max(newest, v)
			record = newer(record, itoa(v))
		}
		if newest > 0 && record != itoa(newest) {
			t.Fatalf("recorded %s, newest %d", record, newest)
		}
	})
}
