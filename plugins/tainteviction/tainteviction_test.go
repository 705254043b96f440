package tainteviction_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/tainteviction"
)

// TestScripts: act taint sets a node's taints, tolerate a pod's tolerations.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Case{
		Plugins: func(*testing.T, script.Args) []sim.Plugin { return []sim.Plugin{tainteviction.New()} },
		Acts: map[string]func(*sim.Hands, script.Args) error{
			"taint": func(h *sim.Hands, args script.Args) error {
				obj, ok := h.Stored().Get(sim.Nodes, "", args["node"])
				if !ok {
					return fmt.Errorf("no node %s", args["node"])
				}
				node := obj.DeepCopyObject().(*corev1.Node)
				node.Spec.Taints = nil
				for item := range strings.SplitSeq(args["taints"], ",") {
					if key, effect, ok := strings.Cut(item, ":"); ok {
						node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)})
					}
				}
				_, err := h.Update(node)
				return err
			},
			"tolerate": func(h *sim.Hands, args script.Args) error {
				obj, ok := h.Stored().Get(sim.Pods, "default", args["pod"])
				if !ok {
					return fmt.Errorf("no pod %s", args["pod"])
				}
				pod := obj.DeepCopyObject().(*corev1.Pod)
				seconds, err := strconv.ParseInt(args["seconds"], 10, 64)
				if err != nil {
					return err
				}
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
					Key: args["key"], Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
				_, err = h.Update(pod)
				return err
			},
		},
	})
}
