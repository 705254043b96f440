package replicaset

import (
	"sync"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// expectationsTimeout is how long a ReplicaSet waits to see its own creations
// and deletions before it acts on what it sees. (controller.ExpectationsTimeout)
const expectationsTimeout = 5 * time.Minute

// expectations count, for every ReplicaSet, the pods created and deleted that
// the cache has not shown yet. Creations are only counted, so that a count may
// fall below zero; deletions are known by the pod's key, so that a graceful
// deletion, seen once as an update and once as a removal, counts once.
// (controller.UIDTrackingControllerExpectations)
type expectations struct {
	mu      sync.Mutex
	of      map[engine.Key]*expectation
	deleted map[engine.Key]map[engine.Key]struct{} // outlives of: setting creations leaves it
}

type expectation struct {
	creations int
	deletions int
	since     time.Time
}

func newExpectations() *expectations {
	return &expectations{
		of:      map[engine.Key]*expectation{},
		deleted: map[engine.Key]map[engine.Key]struct{}{},
	}
}

// expectCreations replaces what was expected by n creations.
func (e *expectations) expectCreations(rs engine.Key, n int, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of[rs] = &expectation{creations: n, since: now}
}

// expectDeletions replaces what was expected by the deletion of these pods.
func (e *expectations) expectDeletions(rs engine.Key, pods []engine.Key, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := make(map[engine.Key]struct{}, len(pods))
	for _, pod := range pods {
		keys[pod] = struct{}{}
	}
	e.deleted[rs] = keys
	e.of[rs] = &expectation{deletions: len(keys), since: now}
}

// creationsSeen takes n off the expected creations, if anything is expected.
func (e *expectations) creationsSeen(rs engine.Key, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.of[rs]; x != nil {
		x.creations -= n
	}
}

// deletionSeen takes a pod off the expected deletions, once.
func (e *expectations) deletionSeen(rs, pod engine.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, expected := e.deleted[rs][pod]; !expected {
		return
	}
	delete(e.deleted[rs], pod)
	if x := e.of[rs]; x != nil {
		x.deletions--
	}
}

// expected is what a ReplicaSet still waits for at one time.
type expected struct {
	ok        bool // nothing, or the wait has run out
	creations int  // pods created and not seen yet
	deletions int  // pods deleted and not seen yet
}

// state says whether all was seen that a ReplicaSet expects, as of now.
// (controller.SatisfiedExpectations)
func (e *expectations) state(rs engine.Key, now time.Time) expected {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.of[rs]
	if x == nil {
		return expected{ok: true}
	}
	open := expected{creations: max(0, x.creations), deletions: max(0, x.deletions)}
	open.ok = open.creations+open.deletions == 0 || now.Sub(x.since) > expectationsTimeout
	return open
}

// forget drops all that is expected of a ReplicaSet.
func (e *expectations) forget(rs engine.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.of, rs)
	delete(e.deleted, rs)
}
