// Package user is a person with a script: what they do, and when.
package user

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Step is one thing the person does.
type Step struct {
	At time.Duration // since the run began
	// What says it in the person's words, for errors: "set image v2".
	What string
	// Do acts on the API. The world traces the changes it makes.
	Do func(ctx context.Context, hand engine.Hand) error
}

// Plugin is the person.
type Plugin struct {
	start time.Time
	steps []Step
	errs  []error
}

// New gives a person their script. Start is the date of virtual time zero,
// from which the steps' times count.
func New(start time.Time, steps ...Step) *Plugin { return &Plugin{start: start, steps: steps} }

// Name is the actor in the trace.
func (p *Plugin) Name() string { return trace.ActorYou }

// Start sets the clock for each step. Steps of the same time run in the order
// of the script.
func (p *Plugin) Start(h *sim.Hands) {
	for _, step := range p.steps {
		h.After(max(p.start.Add(step.At).Sub(h.Now()), 0), func() { p.run(h, step) })
	}
}

// run does a step, but not while the world is still being set up.
func (p *Plugin) run(h *sim.Hands, step Step) {
	if h.Settling() {
		h.After(time.Nanosecond, func() { p.run(h, step) })
		return
	}
	if err := step.Do(context.Background(), h.Hand()); err != nil {
		p.errs = append(p.errs, fmt.Errorf("%s at %s: %w", step.What, step.At, err))
	}
}

// Err is what went wrong with the steps that have run, nil when nothing did. A
// script goes on after a step that failed, as a person would.
func (p *Plugin) Err() error { return errors.Join(p.errs...) }
