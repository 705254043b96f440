package nodelifecycle

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The client's limit, which all the controller's writes share (controller
// manager: 20 a second, burst 30), and the workers of a round.
const (
	clientQPS   = 20
	clientBurst = 30
	workers     = 8
)

// calls are the controller's requests, one after the other at the pace its
// client allows. Where calls take no time each is made at once.
type calls struct {
	h       *sim.Hands
	pending []request
	waiting bool
	tokens  float64
	filled  time.Time
}

// request is a call, or free: something to do after the calls before it.
type request struct {
	do    func()
	cause trace.Seq
	free  bool
}

// add makes a call when its turn has come, under the cause at hand now.
func (c *calls) add(call func()) { c.line(request{do: call, cause: c.h.Cause()}) }

// then does something once the calls so far have been made.
func (c *calls) then(do func()) { c.line(request{do: do, cause: c.h.Cause(), free: true}) }

func (c *calls) line(r request) {
	if c.h.Instant() || c.h.Settling() {
		r.do()
		return
	}
	c.pending = append(c.pending, r)
	c.await()
}

func (c *calls) await() {
	if c.waiting || len(c.pending) == 0 {
		return
	}
	c.waiting = true
	var wait time.Duration
	if !c.pending[0].free {
		wait = c.token() + c.h.Latency(sim.CallLatency)/workers
	}
	c.h.After(wait, func() {
		next := c.pending[0]
		c.pending, c.waiting = c.pending[1:], false
		c.h.Under(next.cause, next.do)
		c.await()
	})
}

// token is how long the next request has to wait.
func (c *calls) token() time.Duration {
	now := c.h.Now()
	if c.filled.IsZero() {
		c.tokens = clientBurst
	} else {
		c.tokens = min(clientBurst, c.tokens+now.Sub(c.filled).Seconds()*clientQPS)
	}
	c.tokens--
	c.filled = now
	return time.Duration(max(-c.tokens, 0) / clientQPS * float64(time.Second))
}
