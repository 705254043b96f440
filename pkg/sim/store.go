package sim

import (
	"math/rand/v2"
	"strconv"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// store is the API server's storage: the truth, one revision counter for all
// resources, and the watches. It trusts its caller; rules live in server.go.
type store struct {
	*cache
	world    *World
	revision uint64
	uids     *rand.Rand
	names    *rand.Rand
	watches  map[string][]*watch
}

func newStore(w *World) *store {
	return &store{
		cache: newCache(), world: w, watches: map[string][]*watch{},
		uids: stream(w.cfg.Seed, "uids"), names: stream(w.cfg.Seed, "names"),
	}
}

// nextVersion is the resourceVersion of the next write.
func (s *store) nextVersion() string {
	s.revision++
	return strconv.FormatUint(s.revision, 10)
}

// put stores a new or changed object and tells the watches. The object must
// not be changed afterwards.
func (s *store) put(k *kind, obj Object, cause trace.Seq) {
	old := s.table(k.resource).set(obj)
	change := engine.Change{Verb: engine.Added, New: obj}
	if old != nil {
		change.Verb, change.Old = engine.Modified, old
	}
	s.tell(k, change, cause)
}

// remove drops an object; last is its final state with the deletion's own version.
func (s *store) remove(k *kind, last Object, cause trace.Seq) {
	old := s.table(k.resource).drop(last)
	s.tell(k, engine.Change{Verb: engine.Deleted, Old: old, New: last}, cause)
}

func (s *store) tell(k *kind, c engine.Change, cause trace.Seq) {
	for _, w := range s.watches[k.resource] {
		w.send(c, cause)
	}
}
