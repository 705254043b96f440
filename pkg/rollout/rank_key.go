package rollout

import (
	"math"
	"slices"
	"time"
)

// Ranking sorts pods by their keys. Swapping keys instead of pods gives the same
// order for less copying; and most pairs are told apart by their keys alone,
// which lie side by side in memory. The zero value is ready; one that is used
// again needs no room for the keys.
type Ranking struct {
	looks []RankLooks
	keys  []rankKey
}

func (q *Ranking) take(looks []RankLooks, now time.Time) {
	q.looks, q.keys = looks, slices.Grow(q.keys[:0], len(looks))
	ages := agesAt(now)
	for i := range looks {
		looks[i].set(ages)
		q.keys = append(q.keys, looks[i].key(i))
	}
}

// order is negative when the pod of a goes before that of b. Go's slices.SortFunc
// makes the same moves as its sort.Sort, which upstream uses.
func (q *Ranking) order(a, b rankKey) int {
	if order, decided := a.compare(&b); decided {
		return order
	}
	_, order := compare(&q.looks[a.at].candidate, &q.looks[b.at].candidate)
	return order
}

// rankKey is the part of a candidate that tells most pairs apart.
type rankKey struct {
	head      uint64 // the rules up to RankNodeCrowded; the smaller goes first
	readySecs int64  // of readyAt; noSecs for a pod that is not ready, or since no known time
	uid       uint64
	readyAge  int8
	at        int32 // the candidate
}

const (
	noSecs = math.MinInt64
	// mostOnNode is as far as a head can count.
	mostOnNode = 1<<28 - 1
)

func (c *candidate) key(at int) rankKey {
	k := rankKey{readySecs: noSecs, uid: c.uid, readyAge: int8(c.readyAge), at: int32(at)}
	if c.assigned {
		k.head = 1
	}
	k.head = k.head<<2 | uint64(c.phase)
	k.head <<= 1
	if c.ready {
		k.head |= 1
	}
	k.head = k.head<<32 | uint64(uint32(c.cost)^1<<31) // the sign bit turned, so that negative costs come first
	k.head = k.head<<28 | uint64(mostOnNode-min(max(c.onNode, 0), mostOnNode))
	if c.ready && !c.readyAt.IsZero() {
		k.readySecs = c.readyAt.Unix()
	}
	return k
}

// compare is negative when a goes before b, as compare of the candidates; it
// leaves undecided what takes more than the keys to know.
func (k *rankKey) compare(o *rankKey) (order int, decided bool) {
	switch {
	case k.head != o.head:
		return first(k.head < o.head), true
	case k.head&mostOnNode == 0: // more on the node than a head can count
		return 0, false
	case k.readySecs == noSecs || o.readySecs == noSecs || k.readySecs == o.readySecs:
		return 0, false
	case k.readyAge != o.readyAge:
		return first(k.readyAge < o.readyAge), true
	}
	return first(k.uid < o.uid), k.uid != o.uid
}
