// Package trace is the vocabulary of a rollout: what happened, to what, when,
// and because of what. It names facts as data and words nothing; views do that.
package trace

import (
	"fmt"
	"time"
)

// Seq numbers the events of one run from 1 on. Zero means "none".
type Seq int64

// Ref names the object an event is about.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is kind/namespace/name, or kind/name for objects without a namespace.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return fmt.Sprintf("%s/%s/%s", r.Kind, r.Namespace, r.Name)
}

// The actors that appear in every run. Plugins name themselves.
const (
	ActorYou        = "you"
	ActorDeployment = "deployment"
	ActorReplicaSet = "replicaset"
	ActorScheduler  = "scheduler"
	ActorKubelet    = "kubelet"
	ActorWorld      = "world" // what was there when the run began
)

// Event is one thing that happened.
type Event struct {
	Seq    Seq
	Cause  Seq           // the event it followed from; zero for a first cause
	Offset time.Duration // virtual (sim) or real (live) time since the run began
	Actor  string        // who did it
	Node   string        // where, for actors that exist once a node
	Object Ref           // to what
	Detail Detail        // what, one of the closed set in detail.go
}

// Tracer receives events. Host, actor, time and cause are bound by whoever
// hands it out, so that those who decide only say what they decided.
type Tracer interface {
	// Emit records a detail about an object and returns its number.
	Emit(object Ref, detail Detail) Seq
}

// Discard is a Tracer that keeps nothing.
var Discard Tracer = discard{}

type discard struct{}

func (discard) Emit(Ref, Detail) Seq { return 0 }
