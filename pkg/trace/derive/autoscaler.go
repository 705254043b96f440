package derive

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Autoscaler emits what a write changed in the conditions of a HorizontalPodAutoscaler.
func Autoscaler(hpa, old *autoscalingv2.HorizontalPodAutoscaler, emit Emit) {
	conditions(hpa.Status.Conditions, old.Status.Conditions, autoscalerCondition, emit)
}

func autoscalerCondition(c *autoscalingv2.HorizontalPodAutoscalerCondition) trace.ConditionChanged {
	return trace.ConditionChanged{Condition: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message}
}
