package predict

import (
	"context"
	"os"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sweep"
)

// largeState reports whether the dumps are those of a large cluster: larger
// than a manifest may be.
func (o *Options) largeState() bool {
	var size int64
	for _, path := range o.State {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size > manifest.MaxFile
}

// sideBySide does n things on all processors.
func sideBySide(n int, do func(i int)) {
	// Nothing fails, and nothing stops it.
	_ = sweep.Each(context.Background(), n, func(_ context.Context, i int) error { do(i); return nil }, nil)
}
