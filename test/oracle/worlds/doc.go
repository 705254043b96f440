// Package worlds runs our two controllers and upstream's side by side in random
// worlds and compares them call by call.
//
// The world is pkg/sim, with instant calls and random watch delays, inside a
// testing/synctest bubble whose clock is the world's. Each controller of the
// engine is wrapped in a pair: it lets ours observe and pass, and then makes
// upstream's do the same at the same moment from a cache fed with the same
// changes (as JSON would deliver them). Upstream's requests are answered with
// what the server answered ours, and must be the same ones: verb, resource,
// subresource, name and the whole object with its resourceVersion. Kubernetes
// Events, calls of the queue, the times at which keys become ready, errors and
// retries are compared too. One store serves both sides, so that equal requests
// leave equal stores.
//
// What is random in upstream and how it is made comparable stands where it is
// done: the order of lists (indexer.go), of keys whose timers end together
// (queue.go), of calls side by side (transport.go, twin.go) and of failures side
// by side (faults.go).
package worlds
