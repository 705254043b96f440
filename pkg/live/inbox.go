package live

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// arrival is what a watch brought.
type arrival struct {
	verb    engine.Verb
	obj     Object
	initial bool // it was there when the watch began
	missed  bool // a deletion that a new list shows: the object is as it was before
	blurred bool // it comes after a gap, in which other versions may have been
	at      time.Time
}

// inbox keeps what several watches bring until it has settled.
type inbox struct {
	mu   sync.Mutex
	list []arrival
	held int // while a change of the user's is under way
	// expected are generations that the user's change has made and no watch has
	// brought; until then what may follow from them waits, for so long at most.
	expected map[types.UID]int64
	until    time.Time
	// down are watches that have ended and not begun again. What the others
	// bring waits for them, since their order would be lost.
	down     map[string]bool
	begun    map[string]bool // those that have been up before
	up       time.Time       // the last one began again
	relisted bool            // one had to begin with a new list
}

// overdue is how long a watch may take to bring the user's own change, outage
// how long what others bring waits for one that was lost, and recovery for what
// that one brings once it is there again.
const (
	overdue  = 5 * time.Second
	outage   = 15 * time.Second
	recovery = time.Second
)

// lose is told of a watch that has ended.
func (b *inbox) lose(watch string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down == nil {
		b.down = map[string]bool{}
	}
	b.down[watch] = true
}

// regain is told of a watch that goes on.
func (b *inbox) regain(watch string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down[watch] {
		delete(b.down, watch)
		b.up = time.Now()
	}
	if b.begun == nil {
		b.begun = map[string]bool{}
	}
	b.begun[watch] = true
}

// listing is told of a watch that begins with a list: anew, if it has been up before.
func (b *inbox) listing(watch string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.relisted = b.relisted || b.begun[watch]
}

// lags says that what is there may have to be put behind what a watch brings
// that was lost, or has just begun again.
func (b *inbox) lags() bool {
	if len(b.list) == 0 || time.Since(b.list[0].at) > outage {
		return false
	}
	return len(b.down) > 0 || time.Since(b.up) < recovery
}

// expect is told of the user's change of an object while the inbox is held.
func (b *inbox) expect(uid types.UID, generation int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.list {
		if a.obj.GetUID() == uid && a.obj.GetGeneration() >= generation {
			return
		}
	}
	if b.expected == nil {
		b.expected = map[types.UID]int64{}
	}
	b.expected[uid], b.until = generation, time.Now().Add(overdue)
}

func (b *inbox) put(a arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, a)
	if generation, ok := b.expected[a.obj.GetUID()]; ok && (a.obj.GetGeneration() >= generation || a.verb == engine.Deleted) {
		delete(b.expected, a.obj.GetUID())
	}
}

func (b *inbox) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held++
}

func (b *inbox) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held--
}

// take removes what came before a moment, what was there first, then in the
// order of the server's writes.
func (b *inbox) take(before time.Time) []arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held > 0 || len(b.expected) > 0 && time.Now().Before(b.until) || b.lags() {
		return nil
	}
	n := 0
	for n < len(b.list) && !b.list[n].at.After(before) {
		n++
	}
	out := slices.Clone(b.list[:n])
	b.list = slices.Delete(b.list, 0, n)
	slices.SortStableFunc(out, compareArrivals)
	for i := range out {
		out[i].blurred = b.relisted
	}
	b.relisted = b.relisted && len(out) == 0
	for i := 1; i < len(out); i++ { // a watch that lags does not turn time back
		if out[i].at.Before(out[i-1].at) {
			out[i].at = out[i-1].at
		}
	}
	return out
}

func compareArrivals(a, b arrival) int {
	if a.initial != b.initial {
		if a.initial {
			return -1
		}
		return 1
	}
	if a.initial {
		return cmp.Compare(kindOrder(a.obj), kindOrder(b.obj))
	}
	if a.missed != b.missed { // the version it had says nothing about when it went
		if b.missed {
			return -1
		}
		return 1
	}
	order, err := resourceversion.CompareResourceVersion(a.obj.GetResourceVersion(), b.obj.GetResourceVersion())
	if err != nil {
		return 0
	}
	return order
}

// kindOrder puts owners before what they own.
func kindOrder(obj Object) int {
	switch derive.Ref(obj).Kind {
	case "Deployment":
		return 0
	case "ReplicaSet":
		return 1
	case "Pod":
		return 2
	}
	return 3
}
