package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// dropped is an event that the spam filter did not let through.
type dropped struct {
	said
	when time.Time
}

// similarity is what events that client-go's aggregator counts together have in
// common: all but the message (tools/record EventAggregatorByReasonFunc).
type similarity struct {
	object            trace.Ref
	uid               types.UID
	eventType, reason string
}

// crowd is similar events. In client-go they come to the aggregator before the
// filter: what is dropped behind it counts as similar to what is not. It takes
// longer than the filter, whose answer does not depend on it, so that here it
// hears of dropped events later, and of most not at all.
type crowd struct {
	unheard []dropped
	// full says that, once it has heard of all of them but the last, the
	// aggregator has as many different messages as it keeps. Another puts any of
	// them out, itself perhaps, so that it can as well not hear of it.
	full bool
	when time.Time // of the last it has heard of by then
}

// mostUnheard is how many similar events wait at most.
const mostUnheard = 32

func (r *recorder) crowdOf(s *said) *crowd {
	key := similarity{s.object, s.uid, s.eventType, s.reason}
	c := r.crowds[key]
	if c == nil {
		c = &crowd{}
		r.crowds[key] = c
	}
	return c
}

// drop takes in an event that nobody will read. All that the aggregator keeps of
// it in the end is when the last one came, which tells whether it starts over.
func (c *crowd) drop(d dropped) {
	const lasts = similarSeconds * time.Second
	last := len(c.unheard) - 1
	if last >= 0 && c.full && d.when.Sub(c.when) <= lasts {
		c.unheard[last] = d
		return
	}
	if last >= 0 {
		c.full = c.full && c.unheard[last].when.Sub(c.when) <= lasts
		c.when = c.unheard[last].when
	}
	c.unheard = append(c.unheard, d)
}

// catchUp has the aggregator hear of what was dropped.
func (r *recorder) catchUp(c *crowd) {
	for i := range c.unheard {
		r.hear(c, &c.unheard[i])
	}
	clear(c.unheard)
	c.unheard = c.unheard[:0]
}

// hear has the aggregator hear of an event. again says that what it makes of it
// stands in the API already.
func (r *recorder) hear(c *crowd, d *dropped) (event *corev1.Event, again bool) {
	r.hearing = d.when
	r.event = d.event(r.component)
	event, key := r.similar.EventAggregate(&r.event)
	c.full, c.when = event != &r.event, d.when
	again = r.observed[key]
	r.observed[key] = true
	return event, again
}
