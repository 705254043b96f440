package derive

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Autoscaler emits what a write changed in the conditions of a HorizontalPodAutoscaler.
func Autoscaler(hpa, old *autoscalingv2.HorizontalPodAutoscaler, emit Emit) {
	conditions(autoscalerConditions(hpa), autoscalerConditions(old), emit)
}

func autoscalerConditions(hpa *autoscalingv2.HorizontalPodAutoscaler) []trace.ConditionChanged {
	var out []trace.ConditionChanged
	for _, c := range hpa.Status.Conditions {
		out = append(out, trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return out
}
