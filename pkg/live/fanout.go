package live

import (
	"context"
	"sync"
)

// fanout runs the calls of a pass side by side, each on a goroutine of its own.
func fanout(ctx context.Context, n int, call func(ctx context.Context, i int) error) []error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = call(ctx, i) })
	}
	wait.Wait()
	return errs
}
