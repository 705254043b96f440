package nodelifecycle_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/nodelifecycle"
)

// TestScripts: acts lost and back are about the nodes n1 to n<to>, from from=1
// on; ready publishes a kubelet's own word.
func TestScripts(t *testing.T) {
	var p *nodelifecycle.Plugin
	each := func(args script.Args, do func(name string) error) error {
		from, _ := strconv.Atoi(args["from"])
		to, err := strconv.Atoi(args["to"])
		if err != nil {
			return fmt.Errorf("to=%q: %w", args["to"], err)
		}
		for i := max(from, 1); i <= to; i++ {
			if err := do(fmt.Sprintf("n%d", i)); err != nil {
				return err
			}
		}
		return nil
	}
	report := func(h *sim.Hands, name string, status corev1.ConditionStatus) error {
		obj, ok := h.Stored().Get(sim.Nodes, "", name)
		if !ok {
			return fmt.Errorf("no node %s", name)
		}
		node := obj.DeepCopyObject().(*corev1.Node)
		at := metav1.NewTime(h.Now().Truncate(time.Second))
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: at, LastTransitionTime: at}}
		_, err := h.UpdateStatus(node)
		return err
	}
	script.Run(t, "testdata", script.Case{
		Plugins: func(*testing.T, script.Args) []sim.Plugin {
			p = nodelifecycle.New()
			return []sim.Plugin{p}
		},
		Acts: map[string]func(*sim.Hands, script.Args) error{
			"lost": func(_ *sim.Hands, args script.Args) error {
				return each(args, func(name string) error { p.Lost(name); return nil })
			},
			"back": func(h *sim.Hands, args script.Args) error {
				return each(args, func(name string) error {
					err := report(h, name, corev1.ConditionTrue)
					p.Back(name)
					return err
				})
			},
			"ready": func(h *sim.Hands, args script.Args) error {
				return each(args, func(name string) error { return report(h, name, corev1.ConditionStatus(args["status"])) })
			},
			"cordon": func(h *sim.Hands, args script.Args) error {
				return each(args, func(name string) error {
					obj, _ := h.Stored().Get(sim.Nodes, "", name)
					node := obj.DeepCopyObject().(*corev1.Node)
					node.Spec.Unschedulable = args["off"] == ""
					_, err := h.Update(node)
					return err
				})
			},
		},
	})
}
