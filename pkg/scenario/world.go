// Package scenario puts simulated worlds together: the controllers, every
// plugin in its place, and a person's script in one vocabulary that manifests,
// flags and tests share.
package scenario

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/admission"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/attachdetach"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/disruption"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/faults"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/garbagecollector"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/nodegroup"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/nodelifecycle"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/podgc"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/quota"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/tainteviction"
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
	// Well are the pods that become ready whatever else is said of them; nil means none.
	Well func(*corev1.Pod) bool
	// Story is what happens besides the change that begins the run.
	Story v1alpha1.ScenarioSpec
}

// World is a simulated cluster with the parts that scripts reach for.
type World struct {
	*sim.World
	Kubelet *kubelet.Plugin
	Nodes   *nodelifecycle.Plugin
	Person  *user.Plugin
	// Autoscalers is the HorizontalPodAutoscaler controller, which knows the load.
	Autoscalers *hpa.Plugin
	// NodeGroups adds nodes for pods that find no room; nil where the story has no groups.
	NodeGroups *nodegroup.Plugin
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
	pods, err := behaviours(p.Story.Pods, p.Start, p.Pods)
	if err != nil {
		return nil, err
	}
	w := &World{Kubelet: kubelet.New(healed(pods, p.Well)), Nodes: nodelifecycle.New()}
	loads, err := loads(p.Story.Loads)
	if err != nil {
		return nil, err
	}
	w.Autoscalers = hpa.New(loads...)
	steps, err := w.steps(p.Story.Steps)
	if err != nil {
		return nil, err
	}
	w.Person = user.New(p.Start, steps...)
	// Admission in the order in which an API server runs it: what may change
	// a pod before what counts it.
	plugins := []sim.Plugin{
		admission.NewNamespaces(),
		admission.NewLimitRanger(),
		admission.NewNodeTaint(),
		admission.NewPodSecurity(),
		admission.NewPriority(),
		admission.NewTolerations(admission.DefaultSeconds, admission.DefaultSeconds),
	}
	if len(p.Story.Faults) > 0 {
		rules, err := mishaps(p.Story.Faults)
		if err != nil {
			return nil, err
		}
		broken, err := faults.New(p.Start, rules...)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, broken)
	}
	plugins = append(plugins, quota.New(), scheduler.New(scheduler.Options{}), w.Kubelet, garbagecollector.New(), attachdetach.New(),
		w.Nodes, tainteviction.New(), podgc.New(), disruption.New(), w.Autoscalers)
	groups, err := nodeGroups(p.Story.NodeGroups)
	if err != nil {
		return nil, err
	}
	if len(groups) > 0 {
		w.NodeGroups = nodegroup.New(p.Start, takers, groups...)
		plugins = append(plugins, w.NodeGroups)
	}
	if len(steps) > 0 {
		plugins = append(plugins, w.Person)
	}
	w.World = sim.New(sim.Config{
		Version: p.Version, Seed: p.Seed, Timing: p.Timing, Start: p.Start, Settled: p.Settled, Log: p.Log, Ownership: serverSide(p.Story.Steps),
		Controllers: []engine.Spec{deployment.Spec(p.Version), replicaset.Spec(p.Version)},
		Plugins:     plugins,
	})
	for _, d := range p.Story.WatchDelays {
		w.DelayWatch(d.Actor, d.Resource, d.Until.Duration)
	}
	return w, nil
}
