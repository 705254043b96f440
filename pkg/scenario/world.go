// Package scenario puts simulated worlds together: the controllers, every
// plugin in its place, and a person's script in one vocabulary that manifests,
// flags and tests share.
package scenario

import (
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/admission"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/faults"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/garbagecollector"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/quota"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/user"
)

// Parts is what a world is made of, besides the objects in it.
type Parts struct {
	Version rollout.Version
	Seed    uint64
	Timing  sim.Timing
	Start   time.Time     // the date of virtual time zero
	Settled time.Duration // see sim.Config
	Log     *trace.Log
	// Pods says how pods behave.
	Pods kubelet.Profiles
	// Story is what happens besides the change that begins the run.
	Story v1alpha1.ScenarioSpec
}

// World is a simulated cluster with the parts that scripts reach for.
type World struct {
	*sim.World
	Kubelet *kubelet.Plugin
	Person  *user.Plugin
	// Refusals are the errors of steps that were meant to be refused.
	Refusals []error
	// Warnings are what kubectl would have said about steps that did not fail.
	Warnings []string
}

// NewWorld makes an empty world. A story that cannot be told is an error that
// names the place.
func NewWorld(p Parts) (*World, error) {
	if p.Version == 0 {
		p.Version = rollout.LatestVersion
	}
	pods, err := behaviours(p.Story.Pods, p.Pods)
	if err != nil {
		return nil, err
	}
	w := &World{Kubelet: kubelet.New(pods)}
	steps, err := w.steps(p.Story.Steps)
	if err != nil {
		return nil, err
	}
	w.Person = user.New(p.Start, steps...)
	// Admission in the order in which an API server runs it: what may change
	// a pod before what counts it.
	plugins := []sim.Plugin{
		admission.NewNamespaces(),
		admission.NewPriority(),
		admission.NewTolerations(admission.DefaultSeconds, admission.DefaultSeconds),
	}
	if len(p.Story.Faults) > 0 {
		broken, err := faults.New(p.Start, mishaps(p.Story.Faults)...)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, broken)
	}
	plugins = append(plugins, quota.New(), scheduler.New(scheduler.Options{}), w.Kubelet, garbagecollector.New())
	if len(steps) > 0 {
		plugins = append(plugins, w.Person)
	}
	w.World = sim.New(sim.Config{
		Version: p.Version, Seed: p.Seed, Timing: p.Timing, Start: p.Start, Settled: p.Settled, Log: p.Log,
		Controllers: []engine.Spec{deployment.Spec(p.Version), replicaset.Spec(p.Version)},
		Plugins:     plugins,
	})
	for _, d := range p.Story.WatchDelays {
		w.DelayWatch(d.Actor, d.Resource, d.Until.Duration)
	}
	return w, nil
}
