package scheduler_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
)

// TestScripts: act label sets the only label of a namespace.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Case{
		Acts: map[string]func(*sim.Hands, script.Args) error{
			"label": func(h *sim.Hands, args script.Args) error {
				obj, ok := h.Stored().Get(sim.Namespaces, "", args["namespace"])
				if !ok {
					return fmt.Errorf("no namespace %s", args["namespace"])
				}
				ns := obj.DeepCopyObject().(*corev1.Namespace)
				ns.Labels = map[string]string{args["key"]: args["value"]}
				_, err := h.Update(ns)
				return err
			},
		},
		Plugins: func(*testing.T, script.Args) []sim.Plugin {
			return []sim.Plugin{scheduler.New(scheduler.Options{})}
		},
	})
}
