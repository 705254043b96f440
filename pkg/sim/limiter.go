package sim

import "time"

// limiter is a token bucket that hands out its tokens in the order in which
// they are asked for, as client-go's request limiter does: whoever asks is told
// at once when its turn comes.
type limiter struct {
	loop   *loop
	qps    float64
	burst  float64
	tokens float64 // below zero: tokens promised ahead of time
	last   time.Duration
	off    *bool // while true, nothing is limited
}

// newLimiter makes a bucket that starts full; qps <= 0 never limits.
func newLimiter(l *loop, qps float32, burst int) *limiter {
	return &limiter{loop: l, qps: float64(qps), burst: float64(burst), tokens: float64(burst), last: l.now}
}

// reserve takes a token and returns the time from which it may be used.
func (b *limiter) reserve() time.Duration {
	now := b.loop.now
	if b.qps <= 0 || b.off != nil && *b.off {
		return now
	}
	b.tokens = min(b.burst, b.tokens+(now-b.last).Seconds()*b.qps)
	b.last = now
	b.tokens--
	if b.tokens >= 0 {
		return now
	}
	return b.loop.after(time.Duration(-b.tokens / b.qps * float64(time.Second)))
}

// fill resets the bucket, as after a long rest.
func (b *limiter) fill() { b.tokens, b.last = b.burst, b.loop.now }
