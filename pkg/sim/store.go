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
	watches  [][]*watch // by kind
	numbers  []*numbers // by kind
}

func newStore(w *World) *store {
	s := &store{
		world: w, watches: make([][]*watch, len(kinds)), numbers: make([]*numbers, len(kinds)),
		uids: stream(w.cfg.Seed, "uids"), names: stream(w.cfg.Seed, "names"),
	}
	for i := range s.numbers {
		s.numbers[i] = newNumbers()
	}
	s.cache = newCache(s.numbers)
	return s
}

// nextVersion is the resourceVersion of the next write.
func (s *store) nextVersion() string {
	s.revision++
	return strconv.FormatUint(s.revision, 10)
}

// put stores a new or changed object and tells the watches. The object must
// not be changed afterwards.
func (s *store) put(k *kind, obj Object, cause trace.Seq) {
	number := s.numbers[k.place].of(obj)
	verb := engine.Added
	old := s.table(k).set(number, obj)
	if old != nil {
		verb = engine.Modified
	}
	s.tell(k, sent{verb: verb, obj: obj, old: old, number: number, cause: cause})
}

// remove drops an object; last is its final state with the deletion's own version.
func (s *store) remove(k *kind, last Object, cause trace.Seq) {
	number := s.numbers[k.place].of(last)
	old := s.table(k).drop(number)
	s.tell(k, sent{verb: engine.Deleted, obj: last, old: old, number: number, cause: cause})
}

func (s *store) tell(k *kind, change sent) {
	for _, w := range s.watches[k.place] {
		w.send(change)
	}
}
