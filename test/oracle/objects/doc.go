// Package objects compares what pkg/sim/defaults fills in and what
// pkg/sim/validate refuses with the API server's own defaulting and validation,
// on objects in which fields were changed at random. Its tests are all there is.
package objects
