package defaults

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// Autoscaler fills in a HorizontalPodAutoscaler: at least one pod, 80% of the
// requested cpu, and where there is any behavior all of it but the window of
// scaling down, which is the controller's own.
// Source: pkg/apis/autoscaling/v2/defaults.go SetDefaults_HorizontalPodAutoscaler.
func Autoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	orElse(&hpa.Spec.MinReplicas, 1)
	if len(hpa.Spec.Metrics) == 0 {
		percent := int32(80)
		hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
			},
		}}
	}
	b := hpa.Spec.Behavior
	if b == nil {
		return
	}
	orElse(&b.ScaleUp, autoscalingv2.HPAScalingRules{})
	orElse(&b.ScaleUp.StabilizationWindowSeconds, 0)
	doubled := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
	scalingRules(b.ScaleUp, autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}, doubled)
	orElse(&b.ScaleDown, autoscalingv2.HPAScalingRules{})
	scalingRules(b.ScaleDown, doubled)
}

// scalingRules takes the given policies where there is no list of them.
func scalingRules(rules *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	orElse(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.Policies == nil {
		rules.Policies = policies
	}
}
