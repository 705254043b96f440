// Package conformance holds the API server in memory against the real one.
// testdata has scripts of API calls; their expected outputs are what a real
// kube-apiserver without controllers answered, and the simulated one must give
// the same codes, messages, generations, versions and watch events.
//
// `go test ./cluster/conformance -short` runs the scripts against the
// simulated server only, in a second. Without -short a real server checks the
// scripts again, and the manifests found in the whole project: what it fills
// in, or why it refuses them. `-rewrite` records the real server's answers.
package conformance
