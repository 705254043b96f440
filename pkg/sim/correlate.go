package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// What client-go's recorders keep and how much they take together
// (tools/record/events_cache.go).
const (
	eventCacheSize = 4096
	maxSimilar     = 10
	similarFor     = 600 * time.Second
)

// correlator is client-go's EventAggregator and its log of what was written,
// which say under what name an Event is written and whether as a patch. It is
// not client-go's own since that keeps messages in a map, of which it forgets
// any: here the seed decides which, so that equal runs stay equal.
type correlator struct {
	crowds *lru.Cache // *crowd, by similarity
	log    *lru.Cache // *logged, by identity
	rand   *rand.Rand
}

// similarity is what Events that are aggregated have in common: all but the message.
type similarity struct {
	object            trace.Ref
	uid               types.UID
	eventType, reason string
}

// crowd is the messages of similar Events, fewer than maxSimilar, and when the
// last one came.
type crowd struct {
	messages []string
	last     time.Time
}

// identity is what makes an Event the same again: one that many were combined
// into has no message.
type identity struct {
	similarity
	message string
}

// logged is an Event that was about to be written at least once.
type logged struct {
	name   string
	stands bool // in the API, and not dropped by the spam filter
}

func newCorrelator(r *rand.Rand) *correlator {
	return &correlator{crowds: lru.New(eventCacheSize), log: lru.New(eventCacheSize), rand: r}
}

// correlate takes in an Event, be it dropped afterwards or not. again says that
// it was about to be written before, so that client-go patches it.
func (c *correlator) correlate(s *said, now time.Time) (event *logged, again bool) {
	id := identity{similarity{s.object, s.uid, s.eventType, s.reason}, s.message}
	named := s.when
	if c.combines(id, now) { // then it is known by its time
		id.message, named = "", now
	}
	if known, ok := c.log.Get(id); ok {
		return known.(*logged), true
	}
	event = &logged{name: c.name(s.object.Name, named)}
	c.log.Add(id, event)
	return event, false
}

// name is an Event's: one that would not be a name is made up (util.GenerateEventName).
func (c *correlator) name(object string, at time.Time) string {
	name := fmt.Sprintf("%s.%x", object, at.UnixNano())
	if len(validation.NameIsDNSSubdomain(name, false)) > 0 {
		return string(newUID(c.rand))
	}
	return name
}

// combines notes a message, and says whether it is one of too many (EventAggregate).
func (c *correlator) combines(id identity, now time.Time) bool {
	similar := &crowd{}
	if known, ok := c.crowds.Get(id.similarity); ok {
		similar = known.(*crowd)
	} else {
		c.crowds.Add(id.similarity, similar)
	}
	if now.Sub(similar.last) > similarFor {
		similar.messages = similar.messages[:0]
	}
	similar.last = now
	if !slices.Contains(similar.messages, id.message) {
		similar.messages = append(similar.messages, id.message)
	}
	if len(similar.messages) < maxSimilar {
		return false
	}
	i := c.rand.IntN(len(similar.messages))
	similar.messages = slices.Delete(similar.messages, i, i+1)
	return true
}
