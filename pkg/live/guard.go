package live

import (
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// OccupiedError says that someone else runs these controllers.
type OccupiedError struct {
	// How it was noticed.
	How string
	// Ours: it is a host of ours, which does run them.
	Ours bool
}

func (e *OccupiedError) Error() string {
	return e.How + ": two Deployment controllers on the same objects would fight"
}

// guard notices another Deployment controller by what only one publishes: the
// observed generation of a Deployment.
type guard struct {
	stop func(error) // nil when it is not to be noticed

	mu       sync.Mutex
	intended map[types.UID]int64 // the newest generation we were about to publish
}

func newGuard(stop func(error)) *guard {
	return &guard{stop: stop, intended: map[types.UID]int64{}}
}

// intend is told of a status before it is written.
func (g *guard) intend(d *appsv1.Deployment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.intended[d.UID] = max(g.intended[d.UID], d.Status.ObservedGeneration)
}

// observe is told of each delivered Deployment; was is the one before, if any.
func (g *guard) observe(verb engine.Verb, d, was *appsv1.Deployment) {
	g.mu.Lock()
	intended := g.intended[d.UID]
	if verb == engine.Deleted {
		delete(g.intended, d.UID)
	}
	g.mu.Unlock()
	if g.stop == nil || verb != engine.Modified || was == nil || was.UID != d.UID {
		return
	}
	if now := d.Status.ObservedGeneration; now > was.Status.ObservedGeneration && now > intended {
		g.stop(&OccupiedError{How: fmt.Sprintf("something else published generation %d of deployment %s/%s as observed", now, d.Namespace, d.Name)})
	}
}
