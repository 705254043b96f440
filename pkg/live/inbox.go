package live

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// arrival is what a watch brought.
type arrival struct {
	verb    engine.Verb
	obj     Object
	initial bool // it was there when the watch began
	listed  bool // a new list shows it: what lies between it and the version before is not known
	missed  bool // a deletion that a new list shows: the object is as it was before
	frees   bool // a list shows it gone, or smaller than it was: this came before what took its room
	blurred bool // it comes in a gap or right after it, when other versions may have been
	at      time.Time

	version uint64 // where it stands in the order of the server's writes; zero where that cannot be told
	due     uint64 // it has its place once all watches have brought what was written up to here
	apart   bool   // its version may be that of another store: it takes nothing with it
	number  int    // in the order of arrival
	beat    int    // of the inbox when it came
}

// versionOf reads a resource version, which is a number wherever versions have an
// order (apimachinery/pkg/util/resourceversion).
func versionOf(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// inbox keeps what several watches bring until nothing can come any more that
// was written before it, as far as that can be told.
type inbox struct {
	mu     sync.Mutex
	list   []arrival // in the order in which they came
	number int       // of the next
	held   int       // while a change of the user's is under way
	// expected are generations that the user's change has made and no watch has
	// brought; until then what may follow from them waits, for so long at most.
	expected map[types.UID]int64
	until    time.Time

	feeds map[string]*line
	// beat counts the looks at the inbox. Waiting is counted in them, since a
	// process that gets no processor for a second has not looked either.
	beat  int
	every time.Duration // from one beat to the next
	slack int           // more beats to wait, as watches are that far behind each other
	up    int           // the beat at which the last watch began again; zero: none did
	last  arrival       // the one written last of those taken
	now   time.Time     // of the one taken last: what is taken later is not told as earlier

	lostAt int // the number of what came next when a watch was lost last, with none lost before
	// The last gap that lists have closed: the number of what came next when it
	// began, the version of the last list, and the beat at which that came.
	gapStart int
	gapEnd   uint64
	closed   int
}

// line is how far one watch has come.
type line struct {
	turn    int       // counts the watches that took up one another
	down    bool      // it has ended, and no other has taken it up
	since   time.Time // when it ended
	version uint64    // all that was written up to here has been brought
	apart   bool      // its versions may be those of another store
}

// How long things are waited for: what comes, for others that were written
// before it, settleBeats; the rest as they say.
const (
	settleBeats = 5
	overdue     = 5 * time.Second  // the user's own change, which another watch may bring later
	outage      = 15 * time.Second // a watch that was lost
	recovery    = time.Second      // what a watch that goes on where it was brings of the time between
	mostSlack   = time.Second
)

func (b *inbox) line(watch string) *line {
	if b.feeds == nil {
		b.feeds = map[string]*line{}
	}
	if b.feeds[watch] == nil {
		b.feeds[watch] = &line{}
	}
	return b.feeds[watch]
}

// await is told of a watch that others wait for. The versions of one that is
// apart may be those of another store, as an API server's of Events can be.
func (b *inbox) await(watch string, apart bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line(watch).apart = apart
}

// attach is told of a watch that takes up the one before. It has begun once
// regain says so; its number is what lose knows it by.
func (b *inbox) attach(watch string) (turn int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.line(watch)
	l.turn++
	return l.turn
}

// lose is told of a watch that has ended, by the number of attach: another may
// have taken it up already.
func (b *inbox) lose(watch string, turn int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.line(watch)
	if l.turn != turn || l.down {
		return
	}
	if b.whole() {
		b.lostAt = b.number
	}
	l.down, l.since = true, time.Now()
}

// whole says that no watch is lost.
func (b *inbox) whole() bool {
	for _, l := range b.feeds {
		if l.down {
			return false
		}
	}
	return true
}

// regain is told of a watch that brings what happens.
func (b *inbox) regain(watch string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.line(watch); l.down {
		l.down, b.up = false, b.beat+1
	}
}

// forget is told of a watch that nobody takes up any more.
func (b *inbox) forget(watch string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.feeds, watch)
}

// pass is told that a watch has brought all up to a version.
func (b *inbox) pass(watch, version string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.line(watch)
	l.version = max(l.version, versionOf(version))
}

// lags says that what is there may have to be put behind what a watch brings
// that was lost, or that goes on where it was.
func (b *inbox) lags() bool {
	for _, l := range b.feeds {
		if l.down && time.Since(l.since) < outage {
			return true
		}
	}
	return b.up > 0 && b.beat-b.up < b.beats(recovery)
}

// beats is how many looks take at least so long.
func (b *inbox) beats(d time.Duration) int {
	if b.every <= 0 {
		return settleBeats
	}
	return max(settleBeats, int(d/b.every)+1)
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

// put is told of what a watch has brought.
func (b *inbox) put(watch string, a arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.line(watch)
	a.version = versionOf(a.obj.GetResourceVersion())
	a.due, a.apart = a.version, l.apart
	if !l.apart {
		b.measure(a)
	}
	l.version = max(l.version, a.version)
	b.add(a)
}

// fill is told of a list that a watch began with, in place of all that it had
// brought, and of what is different in it.
func (b *inbox) fill(watch, version string, again bool, changed []arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.line(watch)
	l.version = max(l.version, versionOf(version))
	if again && !l.apart {
		b.gapStart, b.gapEnd, b.closed = b.lostAt, max(b.gapEnd, l.version), b.beat
	}
	for _, a := range changed {
		a.version, a.due, a.apart = versionOf(a.obj.GetResourceVersion()), l.version, l.apart
		b.add(a)
	}
}

func (b *inbox) add(a arrival) {
	a.number, a.beat = b.number, b.beat
	b.number++
	b.list = append(b.list, a)
	if generation, ok := b.expected[a.obj.GetUID()]; ok && (a.obj.GetGeneration() >= generation || a.verb == engine.Deleted) {
		delete(b.expected, a.obj.GetUID())
	}
}

// measure notes how far watches are behind each other: what comes after
// something that was written later makes all that follows wait for half as long
// again.
func (b *inbox) measure(a arrival) {
	if b.lags() {
		return
	}
	first := b.last
	for _, other := range b.list { // in the order of arrival
		if first.version > a.version {
			break
		}
		if !other.initial && !other.listed && !other.missed {
			first = other
		}
	}
	if first.version > a.version {
		behind := b.beat - first.beat
		b.slack = max(b.slack, min(behind+behind/2, b.beats(mostSlack))-settleBeats)
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

// empty says that nothing waits.
func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) == 0
}

// take is one look: it removes what nothing has to be waited for, or all there
// is, and with it whatever was written before; what was there first comes first,
// then what was written first.
func (b *inbox) take(all bool) []arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.beat++
	if len(b.list) == 0 || b.held > 0 || len(b.expected) > 0 && time.Now().Before(b.until) {
		return nil
	}
	slices.SortStableFunc(b.list, b.compare)
	n, passed, lags := 0, b.passed(), b.lags()
	for i, a := range b.list {
		aged := !lags && b.beat-a.beat > settleBeats+b.slack
		ready := all || aged || a.due > 0 && a.due <= passed
		if ready && (!a.apart || n == i) {
			n = i + 1
		}
	}
	out := slices.Clone(b.list[:n])
	b.list = slices.Delete(b.list, 0, n)
	slices.SortStableFunc(b.list, func(x, y arrival) int { return cmp.Compare(x.number, y.number) })
	for i := range out {
		out[i].blurred = b.blurs(out[i])
		if out[i].at.Before(b.now) { // a watch that lags does not turn time back
			out[i].at = b.now
		}
		b.now = out[i].at
		if !out[i].initial && !out[i].missed && out[i].version > b.last.version {
			b.last = out[i]
		}
	}
	return out
}

// passed is the version up to which all watches have brought everything, so
// that there is nothing to wait for; zero where that is not known.
func (b *inbox) passed() uint64 {
	least, known := uint64(0), false
	for _, l := range b.feeds {
		if l.apart {
			continue
		}
		if !known || l.version < least {
			least, known = l.version, true
		}
	}
	return least
}

// blurs says that an arrival need not be what followed from the one before. A
// controller acts on what it saw a moment ago, which may lie in the gap.
func (b *inbox) blurs(a arrival) bool {
	return a.listed || a.missed || b.gapEnd > 0 && !a.initial &&
		(b.part(a) == inGap || b.part(a) == afterGap && a.beat-b.closed <= b.beats(recovery))
}

// The parts of time about the last gap.
const (
	beforeGap = iota
	inGap
	afterGap
)

// part is where an arrival lies about the last gap.
func (b *inbox) part(a arrival) int {
	switch {
	case a.listed, a.missed:
		return inGap
	case a.number < b.gapStart:
		return beforeGap
	case a.version <= b.gapEnd:
		return inGap
	}
	return afterGap
}

// compare is the order in which things were, as far as that is known. The
// versions of a list say when an object was last written, not when what matters
// in it came about: a ReplicaSet was sized before its pods came, and written
// again when it had counted them. So in a gap owners come before what they own.
func (b *inbox) compare(x, y arrival) int {
	if x.initial != y.initial {
		if x.initial {
			return -1
		}
		return 1
	}
	if x.initial {
		return cmp.Compare(kindOrder(x.obj), kindOrder(y.obj))
	}
	if b.gapEnd > 0 {
		p, q := b.part(x), b.part(y)
		if p != q {
			return cmp.Compare(p, q)
		}
		if p == inGap {
			return cmp.Or(cmp.Compare(kindOrder(x.obj), kindOrder(y.obj)), freeing(x, y), compareVersions(x, y))
		}
	}
	return compareVersions(x, y)
}

func compareVersions(x, y arrival) int { return cmp.Compare(x.version, y.version) }

// freeing puts what frees room before what may take it, so that there never seem
// to be more pods than there were.
func freeing(x, y arrival) int {
	switch {
	case x.frees == y.frees:
		return 0
	case x.frees:
		return -1
	}
	return 1
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
