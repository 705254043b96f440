package scenario

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// serverSide says whether a story applies anything server-side.
func serverSide(story []v1alpha1.ScenarioStep) bool {
	return slices.ContainsFunc(story, func(s v1alpha1.ScenarioStep) bool { return s.ServerSide != nil })
}

// serverSideApply is kubectl apply --server-side of one object.
func (w *World) serverSideApply(s *v1alpha1.ScenarioStep) (func(context.Context, engine.Hand) error, error) {
	if s.Apply == nil {
		return nil, errors.New("serverSide: there is nothing to apply")
	}
	var config map[string]any
	if err := json.Unmarshal(s.Apply.Raw, &config); err != nil {
		return nil, err
	}
	opts := sim.ApplyOptions{FieldManager: s.ServerSide.FieldManager, Force: s.ServerSide.ForceConflicts}
	return func(context.Context, engine.Hand) error {
		_, err := w.Hands(trace.ActorYou).ServerSideApply(config, opts)
		return err
	}, nil
}
