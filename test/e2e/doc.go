// Package e2e holds predictions against reality: on a control plane of this
// machine, with kwok in place of kubelets, every scenario is first planned by
// the installed plugin, through `kubectl rollout-sim plan -o json` against the
// live cluster, then done with kubectl and recorded with watches.
//
//	go test ./e2e -timeout 30m                  compare
//	go test ./e2e -timeout 30m -args -rewrite   compare and write docs/accuracy.md
//	go test ./e2e -timeout 30m -args -record    also play the large scenarios anew, whose real runs are kept in testdata
//	go test ./e2e -run 'TestPredictions/undo'   one scenario
//
// docs/accuracy.md tells what is compared and how it is judged.
package e2e
