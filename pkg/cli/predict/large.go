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
	dumpHeap  = 100
	largeHeap = 400
)

// dumpRoom is how many bytes a plan from a dump may hold besides those it has
// for the objects, before collections become more frequent.
const dumpRoom = 512 << 20

// collectFor sets how often the garbage is collected, and returns what sets it
// back. A simulation keeps most of what it makes, so that collecting rarely costs
// little; of a large cluster most is read and thrown away, and what is kept is
// about as much as its dump.
func (o *Options) collectFor() (restore func()) {
	size := o.stateSize()
	heap, limit := largeHeap, int64(-1) // a negative limit changes nothing
	switch {
	case o.Cluster != nil:
		heap = smallHeap
	case size > manifest.MaxFile:
		heap, limit = dumpHeap, dumpRoom+size*3/2
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
