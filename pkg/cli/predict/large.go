package predict

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sweep"
)

// How much may be allocated before a collection, in percent of what lives.
const (
	smallHeap = 40
	largeHeap = 400
)

// How many bytes a plan from large dumps may hold before collections become
// more frequent: as many as any may, or so many besides those for its objects.
const (
	leastRoom  = 2 << 30
	besideRoom = 512 << 20
)

// collectFor sets how often the garbage is collected, and returns what sets it
// back. A simulation keeps most of what it makes, so that collecting rarely costs
// little; of a live cluster most is read and thrown away, and of a dump is kept
// what takes one and a half times its size at most.
func (o *Options) collectFor() (restore func()) {
	size := o.stateSize()
	heap, limit := largeHeap, int64(-1) // a negative limit changes nothing
	switch {
	case o.Cluster != nil:
		heap = smallHeap
	case size > manifest.MaxFile:
		limit = max(leastRoom, besideRoom+size*3/2)
	default:
		return CollectRarely()
	}
	percent, most := debug.SetGCPercent(heap), debug.SetMemoryLimit(limit)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(most)
	}
}

// stateSize is how many bytes the dumps have together.
func (o *Options) stateSize() (size int64) {
	for _, path := range o.State {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size
}

// sideBySide does n things on all processors.
func sideBySide(n int, do func(i int)) {
	// Nothing fails, and nothing stops it.
	_ = sweep.Each(context.Background(), n, func(_ context.Context, i int) error { do(i); return nil }, nil)
}
