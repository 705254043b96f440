// Package sweep plays many runs side by side and says what they add up to:
// percentiles over seeds, and which of several strategies serves a goal. It
// knows nothing of how a run is played.
package sweep

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do for 0 to n-1 on as many goroutines as there are processors and
// returns when all are done. Every result belongs to its number, so that the
// number of processors shows nowhere. The error is that of the lowest number
// that failed of those that were tried; the first failure stops what has not begun.
// done, if not nil, is told after each call how many are through.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error, done func(int)) error {
	if done == nil {
		done = func(int) {}
	}
	var next, through atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = ctx.Err(); errs[i] == nil {
					errs[i] = do(ctx, i)
				}
				if errs[i] != nil {
					failed.Store(true)
				}
				done(int(through.Add(1)))
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
