package engine

import "context"

// Step runs one pass and applies the retry policy to its end, the same for
// every host: success forgets the key's failures, an error worth a retry puts
// the key back behind the rate limit, any other drops it until its next event.
// It returns the error of the pass.
func Step(ctx context.Context, c Controller, env *Env, key Key) error {
	err := c.Sync(ctx, env, key)
	if err != nil && c.Retry(err, env.Queue.NumRequeues(key)) {
		env.Queue.AddRateLimited(key)
		return err
	}
	env.Queue.Forget(key)
	return err
}
