package disruption_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/disruption"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/internal/script"
)

// TestScripts: act evict asks for a pod's eviction, drain empties a node with
// kubectl's flags, ready sets a pod's Ready condition, gone removes a pod for good.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Case{
		Plugins: func(*testing.T, script.Args) []sim.Plugin { return []sim.Plugin{disruption.New()} },
		Acts: map[string]func(*sim.Hands, script.Args) error{
			"evict": func(h *sim.Hands, args script.Args) error {
				return h.Evict("default", args["pod"], metav1.DeleteOptions{}, trace.Evicted{By: "somebody"})
			},
			"drain": drain,
			"ready": setReady,
			"gone": func(h *sim.Hands, args script.Args) error {
				zero := int64(0)
				return h.Delete(sim.Pods, "default", args["pod"], metav1.DeleteOptions{GracePeriodSeconds: &zero})
			},
		},
	})
}

func drain(h *sim.Hands, args script.Args) error {
	_, daemons := args["ignore-daemonsets"]
	_, empty := args["delete-emptydir-data"]
	_, force := args["force"]
	_, disable := args["disable-eviction"]
	opts := disruption.DrainOptions{IgnoreDaemonSets: daemons, DeleteEmptyDirData: empty, Force: force, DisableEviction: disable}
	if v := args["timeout"]; v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			return err
		}
		opts.Timeout = d
	}
	if v := args["grace-period"]; v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return err
		}
		opts.GracePeriodSeconds = &n
	}
	return disruption.Drain(h, args["node"], opts, func(line string) {
		h.Emit(trace.Ref{Kind: "Node", Name: args["node"]}, trace.Recorded{EventType: "said", Message: line})
	})
}

func setReady(h *sim.Hands, args script.Args) error {
	obj, ok := h.Stored().Get(sim.Pods, "default", args["pod"])
	if !ok {
		return fmt.Errorf("no pod %s", args["pod"])
	}
	pod := obj.DeepCopyObject().(*corev1.Pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(args["status"])}}
	_, err := h.UpdateStatus(pod)
	return err
}
