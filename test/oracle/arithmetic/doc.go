// Package arithmetic compares pkg/rollout, function by function, with the
// functions of k8s.io/kubernetes that it stands for, on drawn objects. Its tests
// are all there is; docs/upstream-map.md lists who is compared with whom.
package arithmetic
