package predict

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// youngHeap is how many bytes the heap of a command may grow to before garbage
// is collected at all. Most are over before that.
const youngHeap = 96 << 20

// leastLive is the least that is taken to live: what the program begins with.
const leastLive = 4 << 20

// collector sets how often the garbage is collected while a command simulates:
// when the heap has grown to youngHeap and, once more than that is kept, when as
// many percent of it were allocated as largeHeap says. A simulation keeps most
// of what it makes, and a run of a sweep is thrown away whole, so that collecting
// often is in vain.
type collector struct {
	mu   sync.Mutex
	over bool
}

// CollectRarely sets how often the garbage is collected, and returns what sets
// it back. A limit that the environment gives (GOMEMLIMIT) holds all the same.
func CollectRarely() (restore func()) {
	var c collector
	percent := debug.SetGCPercent(percentFor(liveBytes()))
	c.await()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over = true
		debug.SetGCPercent(percent)
	}
}

// await has the next collection be followed by another look: it finds an object
// that nothing refers to.
func (c *collector) await() {
	runtime.AddCleanup(&struct{ _ *collector }{}, (*collector).collected, c)
}

func (c *collector) collected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		debug.SetGCPercent(percentFor(liveBytes()))
		c.await()
	}
}

// liveBytes are those the last collection found to live.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// percentFor lets a heap of which so much lives grow to youngHeap, or by
// largeHeap percent where that is more.
func percentFor(live uint64) int {
	return max(largeHeap, int(100*youngHeap/max(live, leastLive))-100)
}
