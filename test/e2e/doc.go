// Package e2e holds predictions against reality: on a control plane of this
// machine, with kwok in place of kubelets, every scenario is first planned by
// the installed plugin, through `kubectl rollout-sim plan -o json` against the
// live cluster, then done with kubectl and recorded with watches.
//
//	go test ./e2e -timeout 30m                  compare
//	go test ./e2e -timeout 30m -args -rewrite   compare and write docs/accuracy.md
//	go test ./e2e -run 'TestPredictions/undo'   one scenario
//
// What is compared: the sizes of all ReplicaSets, by name, at the end of each
// wave, which is where nothing was scaled for half a second (the small steps
// within a wave fall by milliseconds, in reality too); the duration, which may
// be 10% or a second off; the most pods at once and the fewest available, which
// may not be off at all; and how it ended.
package e2e
