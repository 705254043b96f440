package scenario_test

import (
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// disturbNodes lets some worlds' nodes die, be drained, tainted, go and join. What
// is taken away comes back within the progress deadline.
func (w *randomWorld) disturbNodes() {
	if w.IntN(2) == 0 {
		return
	}
	if w.IntN(2) == 0 { // pods are evicted while the node is still away
		short := int64(w.IntN(30))
		for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			w.deployment.Spec.Template.Spec.Tolerations = append(w.deployment.Spec.Template.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &short,
			})
		}
	}
	for range 1 + w.IntN(4) {
		name := fmt.Sprintf("node-%d", 1+w.IntN(3))
		from := time.Duration(w.IntN(60_000)) * time.Millisecond
		to := from + time.Duration(1_000+w.IntN(200_000))*time.Millisecond
		switch w.IntN(5) {
		case 0:
			w.onNode(from, name, "down")
			w.onNode(to, name, "up")
		case 1:
			w.onNode(from, name, "cordon")
			w.onNode(to, name, "uncordon")
		case 2:
			w.onNode(from, name, "drain")
			w.onNode(to, name, "uncordon")
		case 3: // node-1 stays, as the model of those that join
			extra := fmt.Sprintf("extra-%d", w.IntN(2))
			w.onNode(from, extra, "add")
			w.onNode(to, extra, "delete")
		case 4:
			w.taint(from, to, fmt.Sprintf("node-%d", 2+w.IntN(2))) // whatever is like node-1 would keep its taint
		}
	}
}

func (w *randomWorld) onNode(at time.Duration, name, what string) {
	s := v1alpha1.ScenarioStep{At: metav1.Duration{Duration: at}, Target: "node/" + name, Node: what}
	if what == "drain" {
		s.Drain = &v1alpha1.DrainOptions{Force: w.IntN(2) == 0, DisableEviction: w.IntN(3) == 0}
	}
	w.parts.Story.Steps = append(w.parts.Story.Steps, s)
}

// taint sets a taint as somebody would by hand, and takes all of the node away
// later, those of its controllers as well. Some pods tolerate it for a while.
func (w *randomWorld) taint(from, to time.Duration, name string) {
	effect := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}[w.IntN(3)]
	if w.IntN(2) == 0 {
		seconds := int64(w.IntN(60))
		spec := &w.deployment.Spec.Template.Spec
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
	w.patchNode(from, name, fmt.Sprintf(`{"spec":{"taints":[{"key":"maintenance","effect":"%s"}]}}`, effect))
	w.patchNode(to, name, `{"spec":{"taints":null}}`)
}

func (w *randomWorld) patchNode(at time.Duration, name, patch string) {
	w.parts.Story.Steps = append(w.parts.Story.Steps, v1alpha1.ScenarioStep{At: metav1.Duration{Duration: at}, Target: "node/" + name, Patch: raw(patch)})
}

// crowd leaves some worlds so little room that nodes have to be added for more
// pods than there are in the beginning.
func (w *randomWorld) crowd() {
	if w.IntN(4) != 0 {
		return
	}
	w.room = fmt.Sprint(max(3+w.IntN(5), (int(*w.deployment.Spec.Replicas)+2)/3))
	delay := metav1.Duration{Duration: time.Duration(w.IntN(90_000)) * time.Millisecond}
	w.parts.Story.NodeGroups = []v1alpha1.NodeGroup{{Name: "pool", Like: "node-1", Max: 50, Delay: &delay}}
}

// autoscale gives some worlds an autoscaler whose load goes up and down.
func (w *randomWorld) autoscale() {
	if w.IntN(4) != 0 {
		return
	}
	target, least := int32(50), int32(1+w.IntN(3))
	w.there = append(w.there, &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    &least, MaxReplicas: least + int32(w.IntN(20)),
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target}}}},
		},
	})
	spec := &w.deployment.Spec.Template.Spec
	for i := range spec.Containers {
		spec.Containers[i].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	}
	load := func() v1alpha1.Metric {
		return v1alpha1.Metric{Metric: "cpu", Total: *resource.NewMilliQuantity(int64(w.IntN(1500)), resource.DecimalSI)}
	}
	w.parts.Story.Loads = append(w.parts.Story.Loads, v1alpha1.Load{Target: "deployment/web", Metric: load()})
	for range w.IntN(3) {
		now := load()
		w.parts.Story.Steps = append(w.parts.Story.Steps, v1alpha1.ScenarioStep{
			At: metav1.Duration{Duration: time.Duration(w.IntN(120_000)) * time.Millisecond}, Target: "deployment/web", Load: &now,
		})
	}
}

// placed is an error where a pod that is ready at the end stands on a node that
// is not there, or that lost it.
func placed(w *scenario.World) error {
	for _, obj := range w.Stored().List(sim.Pods, "default") {
		pod, ok := obj.(*corev1.Pod)
		ready := ok && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
		if !ready {
			continue
		}
		found, there := w.Stored().Get(sim.Nodes, "", pod.Spec.NodeName)
		node, ok := found.(*corev1.Node)
		if !there || !ok {
			return fmt.Errorf("pod %s is ready on node %q, which is not there", pod.Name, pod.Spec.NodeName)
		}
		if slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
		}) {
			return fmt.Errorf("pod %s is ready on node %s, which is not", pod.Name, node.Name)
		}
	}
	return nil
}
