// Package admission compares what plugins/admission and plugins/quota fill into
// pods and refuse with the API server's own admission plugins, on random pods,
// LimitRanges, ResourceQuotas and Pod Security labels. The simulated plugins run
// in a world of pkg/sim; upstream's get the pod as it reaches ours.
// Its tests are all there is.
package admission
