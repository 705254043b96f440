package replicaset

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// The resources the controller writes, as the cache and error texts name them.
const (
	podsResource        = "pods"
	replicaSetsResource = "replicasets.apps"
)

// A StaleReadError says that the cache does not hold yet what earlier passes
// over the same ReplicaSet wrote. (consistency.ConsistencyError)
type StaleReadError struct {
	Resource string // pods or replicasets.apps
	Read     string // resourceVersion up to which the cache has seen it
	Wrote    string // resourceVersion of the newest write
}

// Error is upstream's text.
func (e *StaleReadError) Error() string {
	return fmt.Sprintf("read version: %s is not as new as written version: %s for group resource %s", e.Read, e.Wrote, e.Resource)
}

// writes remember, for every ReplicaSet, the newest resourceVersion written for
// its pods and for itself, so that a pass can wait until it reads its own
// writes. Deletions leave no version to remember. A nil *writes remembers
// nothing and never waits. (consistency.RealConsistencyStore)
type writes struct {
	mu sync.Mutex
	of map[engine.Key]*written
}

type written struct {
	uid        types.UID
	pods       string
	replicaSet string
}

func newWrites() *writes { return &writes{of: map[engine.Key]*written{}} }

func (w *writes) wrotePod(rs engine.Key, uid types.UID, version string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	record := w.record(rs, uid)
	record.pods = newer(record.pods, version)
}

func (w *writes) wroteReplicaSet(rs engine.Key, uid types.UID, version string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	record := w.record(rs, uid)
	record.replicaSet = newer(record.replicaSet, version)
}

// record starts afresh when a ReplicaSet of the same name has another UID.
func (w *writes) record(rs engine.Key, uid types.UID) *written {
	record := w.of[rs]
	if record == nil || record.uid != uid {
		record = &written{uid: uid}
		w.of[rs] = record
	}
	return record
}

// newer keeps what is recorded only when it is known to be as new.
func newer(recorded, version string) string {
	if cmp, err := resourceversion.CompareResourceVersion(recorded, version); err == nil && cmp >= 0 {
		return recorded
	}
	return version
}

// seen returns a *StaleReadError while the cache lags behind the writes of a
// ReplicaSet, and forgets the writes once it has caught up. Pods are looked at
// first; upstream looks in no particular order. The cache is asked before the
// lock is taken, since it may hold its own lock while it calls Observe.
func (w *writes) seen(cache engine.Cache, rs engine.Key) error {
	if w == nil {
		return nil
	}
	pods, replicaSets := cache.LastSynced(podsResource), cache.LastSynced(replicaSetsResource)
	w.mu.Lock()
	defer w.mu.Unlock()
	record := w.of[rs]
	if record == nil {
		return nil
	}
	if stale(pods, record.pods) {
		return &StaleReadError{Resource: podsResource, Read: pods, Wrote: record.pods}
	}
	if stale(replicaSets, record.replicaSet) {
		return &StaleReadError{Resource: replicaSetsResource, Read: replicaSets, Wrote: record.replicaSet}
	}
	delete(w.of, rs)
	return nil
}

// stale: versions that are unknown or cannot be compared stop nobody.
func stale(read, wrote string) bool {
	if read == "" || wrote == "" {
		return false
	}
	cmp, err := resourceversion.CompareResourceVersion(wrote, read)
	return err == nil && cmp > 0
}

// forget drops the record of a ReplicaSet if it has this UID; an empty UID stands for any.
func (w *writes) forget(rs engine.Key, uid types.UID) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if record := w.of[rs]; record != nil && (uid == "" || record.uid == uid) {
		delete(w.of, rs)
	}
}
