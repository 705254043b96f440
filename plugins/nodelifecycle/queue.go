package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// taintPoll is how often the queues are looked at (scheduler.NodeEvictionPeriod).
const taintPoll = 100 * time.Millisecond

// taintQueue is the nodes of a zone that are to get a NoExecute taint, which
// evicts their pods, in their order and behind the zone's limit (RateLimitedTimedQueue).
type taintQueue struct {
	limit limit
	items []queued
	seen  map[string]bool // queued, or tainted and not taken off since
	timer *sim.Timer
}

type queued struct {
	name  string
	cause trace.Seq
}

func (q *taintQueue) add(name string, cause trace.Seq) {
	if q.seen[name] {
		return
	}
	if q.seen == nil {
		q.seen = map[string]bool{}
	}
	q.seen[name] = true
	q.items = append(q.items, queued{name, cause})
}

func (q *taintQueue) remove(name string) {
	delete(q.seen, name)
	q.items = slices.DeleteFunc(q.items, func(i queued) bool { return i.name == name })
}

// limit is a token bucket of one token.
type limit struct {
	rate   float64 // tokens a second; 0 is never
	tokens float64
	filled time.Time
}

func newLimit(rate float64, now time.Time) limit { return limit{rate: rate, tokens: 1, filled: now} }

// almost spares the bucket the last billionth of a token.
const almost = 1 - 1e-9

func (l *limit) accept(now time.Time) bool {
	l.tokens = min(1, l.tokens+now.Sub(l.filled).Seconds()*l.rate)
	l.filled = now
	if l.rate == 0 || l.tokens < almost {
		return false
	}
	l.tokens--
	return true
}

// wait is how long the next token takes.
func (l *limit) wait(now time.Time) time.Duration {
	have := min(1, l.tokens+now.Sub(l.filled).Seconds()*l.rate)
	return time.Duration(max(almost-have, 0) / l.rate * float64(time.Second))
}

// limit changes a zone's rate. A queue that had to wait for its limit waits for
// the new one too (SwapLimiter).
func (p *Plugin) limit(z *zone, rate float64) {
	q, now := &z.queue, p.h.Now()
	if q.limit.rate == rate {
		return
	}
	next := newLimit(rate, now)
	if !q.limit.accept(now) {
		next.tokens = 0
	}
	q.limit = next
	p.h.Stop(q.timer)
	q.timer = nil
	p.poll(z)
}

// poll sets the clock for the next look at a queue that can bring anything.
func (p *Plugin) poll(z *zone) {
	q, now := &z.queue, p.h.Now()
	if q.timer != nil || len(q.items) == 0 || q.limit.rate == 0 {
		return
	}
	at := now.Add(q.limit.wait(now))
	if late := at.Sub(p.origin) % taintPoll; late != 0 {
		at = at.Add((taintPoll - late) % taintPoll)
	}
	q.timer = p.h.After(at.Sub(now), func() {
		q.timer = nil
		p.drain(z)
		p.poll(z)
	})
}

// drain taints as many nodes as the limit allows.
func (p *Plugin) drain(z *zone) {
	q := &z.queue
	for len(q.items) > 0 && q.limit.accept(p.h.Now()) {
		next := q.items[0]
		q.items = slices.Delete(q.items, 0, 1)
		p.calls.add(func() { p.h.Under(next.cause, func() { p.taint(next.name) }) })
	}
}

// taint gives a node the taint that its condition calls for (doNoExecuteTaintingPass).
func (p *Plugin) taint(name string) {
	node, ok := p.stored(name)
	if !ok {
		return
	}
	switch statusOf(node, corev1.NodeReady) {
	case corev1.ConditionFalse:
		p.swap(node, []corev1.Taint{notReady}, []corev1.Taint{unreachable})
	case corev1.ConditionUnknown:
		p.swap(node, []corev1.Taint{unreachable}, []corev1.Taint{notReady})
	}
}

// markForTainting swaps the taint of a node that has the other one at once, and
// queues a node that has none (processTaintBaseEviction).
func (p *Plugin) markForTainting(node *corev1.Node) {
	want, other := unreachable, notReady
	if statusOf(node, corev1.NodeReady) == corev1.ConditionFalse {
		want, other = notReady, unreachable
	}
	if tainted(node, other) {
		p.calls.add(func() { p.swap(node, []corev1.Taint{want}, []corev1.Taint{other}) })
		return
	}
	z := p.zones.byKey[zoneOf(node)]
	if !tainted(node, want) {
		z.queue.remove(node.Name)
	}
	cause := p.h.Cause()
	if s := p.silent[node.Name]; s != nil {
		cause = s.cause
	}
	z.queue.add(node.Name, cause)
	p.poll(z)
}

// markReachable takes the evicting taints off a node (markNodeAsReachable).
func (p *Plugin) markReachable(node *corev1.Node) {
	if z := p.zones.byKey[zoneOf(node)]; z != nil {
		z.queue.remove(node.Name)
	}
	for _, t := range []corev1.Taint{unreachable, notReady} {
		if tainted(node, t) {
			p.calls.add(func() { p.untaint(node.Name, []corev1.Taint{t}) })
		}
	}
}
