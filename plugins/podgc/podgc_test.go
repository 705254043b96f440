package podgc_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/podgc"
)

// TestScripts: act fail ends a pod.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Case{
		Plugins: func(*testing.T, script.Args) []sim.Plugin { return []sim.Plugin{podgc.New()} },
		Acts: map[string]func(*sim.Hands, script.Args) error{
			"fail": func(h *sim.Hands, args script.Args) error {
				obj, ok := h.Stored().Get(sim.Pods, "default", args["pod"])
				if !ok {
					return fmt.Errorf("no pod %s", args["pod"])
				}
				pod := obj.DeepCopyObject().(*corev1.Pod)
				pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, args["reason"]
				_, err := h.UpdateStatus(pod)
				return err
			},
		},
	})
}
