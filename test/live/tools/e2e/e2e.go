// Package e2e pins the version of Kubernetes' own end-to-end suite, which the
// conformance test builds with go test -c.
package e2e

import _ "k8s.io/kubernetes/test/e2e"
