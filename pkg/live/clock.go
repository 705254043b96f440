package live

import (
	"net/http"
	"sync"
	"time"
)

// serverClock knows the server's time from the Date headers of its answers.
// Each bounds how far the server's clock is ahead of ours: the header has whole
// seconds, and was written between request and answer.
type serverClock struct {
	now func() time.Time

	mu            sync.Mutex
	heard         bool
	least, utmost time.Duration // bounds of server's time minus ours
}

// Now is the server's time: our own as long as no answer contradicts it.
func (c *serverClock) Now() time.Time { return c.now().Add(c.ahead()).UTC() }

func (c *serverClock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.heard || c.least <= 0 && c.utmost >= 0 {
		return 0
	}
	return c.least + (c.utmost-c.least)/2
}

func (c *serverClock) hear(date string, asked, answered time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	least, utmost := at.Sub(answered), at.Add(time.Second).Sub(asked)
	c.mu.Lock()
	defer c.mu.Unlock()
	// Bounds that exclude each other come from servers that differ: believe the last.
	if !c.heard || least > c.utmost || utmost < c.least {
		c.heard, c.least, c.utmost = true, least, utmost
		return
	}
	c.least, c.utmost = max(c.least, least), min(c.utmost, utmost)
}

// timed listens to the answers of a transport.
type timed struct {
	next  http.RoundTripper
	clock *serverClock
}

// RoundTrip is http.RoundTripper's.
func (t *timed) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := t.clock.now()
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		t.clock.hear(resp.Header.Get("Date"), asked, t.clock.now())
	}
	return resp, err
}
