package worlds

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// tally is what a run has compared so far.
type tally struct {
	began                               time.Time
	worlds, passes, writes, differences atomic.Int64
}

func (c *tally) add(n counts, d *difference) {
	c.worlds.Add(1)
	c.passes.Add(int64(n.passes))
	c.writes.Add(int64(n.writes))
	if d != nil {
		c.differences.Add(1)
	}
}

func (c *tally) String() string {
	took := time.Since(c.began)
	return fmt.Sprintf("oracle: %d of %d worlds of %d actions from seed %d: %d passes and %d writes compared, differences: %d, %.0f s, %.0f worlds a minute",
		c.worlds.Load(), *count, *actions, *seed, c.passes.Load(), c.writes.Load(), c.differences.Load(), took.Seconds(), float64(c.worlds.Load())/took.Minutes())
}

// tell writes the tally now and then until it is told to end, and once more then.
func (c *tally) tell(w io.Writer, every time.Duration) (end func()) {
	done, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		again := time.NewTicker(every)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				fmt.Fprintln(w, c)
			case <-done:
				fmt.Fprintln(w, c)
				return
			}
		}
	}()
	return func() { close(done); <-told }
}
