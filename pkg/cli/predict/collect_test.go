package predict

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// rubbish is what allocate makes, so that the compiler leaves it where it is.
var rubbish []byte

func allocate(bytes int) {
	for range bytes >> 20 {
		rubbish = make([]byte, 1<<20)
	}
	rubbish = nil
}

func collections() uint32 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.NumGC
}

// TestCollectRarely: nothing is collected before the heap has grown, something
// is once it has, and afterwards all is as it was.
func TestCollectRarely(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(70))
	runtime.GC()
	restore := CollectRarely()
	before := collections()
	allocate(youngHeap / 2)
	if n := collections() - before; n != 0 {
		t.Errorf("%d collections of half a young heap, want none", n)
	}
	allocate(2 * youngHeap)
	if collections() == before {
		t.Error("no collection of more than a young heap")
	}
	restore()
	if percent := debug.SetGCPercent(70); percent != 70 {
		t.Errorf("%d percent afterwards, want 70", percent)
	}
}

func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{
		0:              100*youngHeap/leastLive - 100,
		youngHeap / 16: 1500,
		youngHeap / 5:  largeHeap, // by so much more it is a young heap
		youngHeap:      largeHeap,
		100 << 30:      largeHeap,
	} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes live: %d percent, want %d", live, got, want)
		}
	}
}
