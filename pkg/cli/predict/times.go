package predict

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/observed"
)

// NewestTime is the latest moment a dump tells of: about when it was made.
func NewestTime(objs []manifest.Object) (newest time.Time) {
	for _, obj := range objs {
		if at := observed.Newest(obj); at.After(newest) {
			newest = at
		}
	}
	return newest
}
