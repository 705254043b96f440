package rollout

import (
	"math"
	"time"
)

// ranking sorts pods by their keys. Swapping keys instead of pods gives the same
// order for less copying; and most pairs are told apart by their keys alone,
// which lie side by side in memory.
type ranking struct {
	looks []RankLooks
	keys  []rankKey
}

func newRanking(looks []RankLooks, onNode map[string]int32, now time.Time) *ranking {
	q := &ranking{looks: looks, keys: make([]rankKey, len(looks))}
	ages := agesAt(now)
	for i := range looks {
		looks[i].set(onNode, ages)
		q.keys[i] = looks[i].key(i)
	}
	return q
}

func (q *ranking) Len() int      { return len(q.keys) }
func (q *ranking) Swap(i, j int) { q.keys[i], q.keys[j] = q.keys[j], q.keys[i] }
func (q *ranking) Less(i, j int) bool {
	a, b := &q.keys[i], &q.keys[j]
	if order, decided := a.compare(b); decided {
		return order < 0
	}
	_, order := compare(&q.looks[a.at].candidate, &q.looks[b.at].candidate)
	return order < 0
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
