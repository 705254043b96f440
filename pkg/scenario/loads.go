package scenario

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa"
)

// loads turns a story's loads into the plugin's.
func loads(story []v1alpha1.Load) ([]hpa.Load, error) {
	out := make([]hpa.Load, len(story))
	for i, l := range story {
		target, err := targetOf(&v1alpha1.ScenarioStep{Target: l.Target, Namespace: l.Namespace})
		if err == nil {
			out[i], err = loadOf(target, l.Metric)
		}
		if err != nil {
			return nil, fmt.Errorf("loads[%d]: %w", i, err)
		}
	}
	return out, nil
}

func loadOf(target trace.Ref, m v1alpha1.Metric) (hpa.Load, error) {
	out := hpa.Load{Target: target, Metric: m.Metric, Total: m.Total, PerPod: m.PerPod, Missing: m.Missing}
	switch {
	case target.Kind != "Deployment" && target.Kind != "ReplicaSet":
		return out, fmt.Errorf("a %s carries no load: name a deployment or replicaset", target.Kind)
	case m.Metric == "":
		return out, fmt.Errorf("a load needs its metric: cpu, memory, or the name of another")
	case m.Total.Sign() < 0:
		return out, fmt.Errorf("a total of %s is less than nothing", m.Total.String())
	}
	if m.ReportsAfter != nil {
		out.ReportsAfter = &m.ReportsAfter.Duration
	}
	return out, nil
}

// loadVerb is a step that changes what a metric says.
func (w *World) loadVerb(s *v1alpha1.ScenarioStep, target trace.Ref) (func(context.Context, engine.Hand) error, error) {
	load, err := loadOf(target, *s.Load)
	if err != nil {
		return nil, err
	}
	return func(context.Context, engine.Hand) error {
		before, _ := w.Autoscalers.Load(target, load.Metric)
		change := trace.Changed{Verb: "load", Fields: []trace.Field{{Path: load.Metric, From: amount(before), To: amount(load)}}}
		h := w.Hands(trace.ActorYou)
		h.Under(h.Emit(trace.Ref{Kind: "Load", Namespace: target.Namespace, Name: target.Name}, change), func() { w.Autoscalers.SetLoad(load) })
		return nil
	}, nil
}

// amount words what a metric says.
func amount(l hpa.Load) string {
	switch {
	case l.Metric == "" || l.Missing:
		return "none"
	case l.PerPod:
		return l.Total.String() + " a pod"
	}
	return l.Total.String()
}

// HoldLoads makes the loads that autoscalers say they observed the loads of
// this world, where the story has none, and returns them, with the autoscalers
// about whose load nothing is known.
func (w *World) HoldLoads() (held []hpa.Load, blind []*autoscalingv2.HorizontalPodAutoscaler) {
	for _, obj := range w.Stored().List(sim.Autoscalers, "") {
		autoscaler, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
		if !ok || !w.targeted(autoscaler) {
			continue
		}
		for _, load := range hpa.Observed(w.Stored(), autoscaler) {
			if _, known := w.Autoscalers.Load(load.Target, load.Metric); !known {
				w.Autoscalers.SetLoad(load)
				held = append(held, load)
			}
		}
		if w.Autoscalers.Blind(autoscaler) {
			blind = append(blind, autoscaler)
		}
	}
	return held, blind
}

// targeted says that what an autoscaler scales is there.
func (w *World) targeted(autoscaler *autoscalingv2.HorizontalPodAutoscaler) bool {
	target := autoscaler.Spec.ScaleTargetRef
	resource, ok := sim.Resource(target.Kind)
	if !ok || resource != sim.Deployments && resource != sim.ReplicaSets {
		return false
	}
	_, there := w.Stored().Get(resource, autoscaler.Namespace, target.Name)
	return there
}
