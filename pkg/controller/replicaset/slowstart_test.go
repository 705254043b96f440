package replicaset

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// batches runs slowStart over calls that fail from the limit-th on, and returns
// the sizes of its batches.
func batches(n, limit int) (sizes []int, succeeded int, err error) {
	calls := 0
	fanout := newWorld(rollout.LatestVersion).env().Fanout
	succeeded, err = slowStart(context.Background(), func(ctx context.Context, n int, call func(context.Context, int) error) []error {
		sizes = append(sizes, n)
		return fanout(ctx, n, call)
	}, n, func(context.Context) error {
		if calls++; calls > limit {
			return errors.New("full")
		}
		return nil
	})
	return sizes, succeeded, err
}

func TestSlowStart(t *testing.T) {
	tests := map[string]struct {
		n, limit  int
		sizes     []int
		succeeded int
	}{
		"nothing to do":          {0, 0, nil, 0},
		"one":                    {1, 1, []int{1}, 1},
		"the last batch is cut":  {10, 10, []int{1, 2, 4, 3}, 10},
		"500 take nine batches":  {500, 500, []int{1, 2, 4, 8, 16, 32, 64, 128, 245}, 500},
		"C10 a quota of five":    {500, 5, []int{1, 2, 4}, 5},
		"none succeeds":          {500, 0, []int{1}, 0},
		"fails at a batch's end": {500, 6, []int{1, 2, 4}, 6},
		"fails at its beginning": {500, 3, []int{1, 2, 4}, 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sizes, succeeded, err := batches(tc.n, tc.limit)
			if !slices.Equal(sizes, tc.sizes) || succeeded != tc.succeeded || (err != nil) != (tc.limit < tc.n) {
				t.Errorf("batches %v, %d succeeded, %v", sizes, succeeded, err)
			}
		})
	}
}

// Batches double until one has a failure or all calls are made; every call made
// either succeeded or failed in the last batch.
func TestSlowStartDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 600).Draw(t, "n"), rapid.IntRange(0, 600).Draw(t, "limit")
		sizes, succeeded, err := batches(n, limit)
		made := 0
		for i, size := range sizes {
			if size != min(1<<i, n-made) {
				t.Fatalf("batch %d of %v", i, sizes)
			}
			if made > limit {
				t.Fatalf("a batch after a failure: %v", sizes)
			}
			made += size
		}
		if succeeded != min(n, limit) || (err != nil) != (limit < n) {
			t.Fatalf("%d of %d succeeded with a limit of %d: %v", succeeded, n, limit, err)
		}
		if err == nil && made != n {
			t.Fatalf("%d calls of %d", made, n)
		}
	})
}
