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
	looks  []RankLooks
	keys   []rankKey
	ages   ages
	choice uint64 // counts choices, so that looks know whether they are up to date
}

func (q *Ranking) take(looks []RankLooks, now time.Time) {
	q.looks, q.keys, q.ages = looks, slices.Grow(q.keys[:0], len(looks)), agesAt(now)
	q.choice++
	kin := int32(0)
	for i := range looks {
		if i > 0 && !looks[i].alike(&looks[i-1].candidate) {
			kin = int32(i)
		}
		q.keys = append(q.keys, looks[i].key(int32(i), kin, &q.ages))
	}
}

// candidate is the one of a key, with its age and neighbours of this time.
func (q *Ranking) candidate(k rankKey) *candidate {
	l := &q.looks[k.at]
	if l.choice != q.choice {
		l.choice = q.choice
		l.set(&q.ages)
	}
	return &l.candidate
}

// order is negative when the pod of a goes before that of b. Go's slices.SortFunc
// makes the same moves as its sort.Sort, which upstream uses.
func (q *Ranking) order(a, b rankKey) int {
	if order, decided := a.compare(&b); decided {
		return order
	}
	_, order := compare(q.candidate(a), q.candidate(b))
	return order
}

// rankKey is the part of a candidate that tells most pairs apart.
type rankKey struct {
	head      uint64 // the rules up to the bucket of RankReadyAge; the smaller goes first
	readySecs int64  // of readyAt; noSecs for a pod that is not ready, or since no known time
	uid       uint64
	at        int32 // the candidate
	// kin is the first of the neighbours in the list that all later rules find
	// equal, as they do pods that came and became ready together.
	kin int32
}

const (
	noSecs = math.MinInt64
	// ageBits hold a bucket of RankReadyAge, nodeBits the neighbours of RankNodeCrowded.
	ageBits, nodeBits = 7, 21
	// mostOnNode is as far as a head can count.
	mostOnNode = 1<<nodeBits - 1
)

func (l *RankLooks) key(at, kin int32, ages *ages) rankKey {
	c, onNode := &l.candidate, *l.neighbours
	k := rankKey{readySecs: noSecs, uid: c.uid, at: at, kin: kin}
	if c.assigned {
		k.head = 1
	}
	k.head = k.head<<2 | uint64(c.phase)
	k.head <<= 1
	if c.ready {
		k.head |= 1
	}
	k.head = k.head<<32 | uint64(uint32(c.cost)^1<<31) // the sign bit turned, so that negative costs come first
	k.head = k.head<<nodeBits | uint64(mostOnNode-min(max(onNode, 0), mostOnNode))
	k.head <<= ageBits
	if c.ready && !c.readyAt.IsZero() {
		k.readySecs = c.readyAt.Unix()
		if onNode < mostOnNode {
			k.head |= uint64(ages.of(c.readyAt) + 2) // no age is -1, and no time goes before it
		}
	}
	return k
}

// alike says that the rules after RankNodeCrowded cannot tell two candidates apart.
func (c *candidate) alike(o *candidate) bool {
	return c.readyAt == o.readyAt && c.createdAt == o.createdAt && c.restarts == o.restarts && c.sidecars == o.sidecars
}

// compare is negative when a goes before b, as compare of the candidates; it
// leaves undecided what takes more than the keys to know.
func (k *rankKey) compare(o *rankKey) (order int, decided bool) {
	switch {
	case k.head != o.head:
		return first(k.head < o.head), true
	case k.head>>ageBits&mostOnNode == 0: // more on the node than a head can count
		return 0, false
	case k.kin == o.kin:
		return 0, true
	case k.readySecs == noSecs || o.readySecs == noSecs || k.readySecs == o.readySecs:
		return 0, false
	}
	return first(k.uid < o.uid), k.uid != o.uid
}
