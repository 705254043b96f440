package hpa

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// set writes a condition; its time moves with the status alone (setConditionInList).
func (l *look) set(of autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason, message string) {
	list := l.hpa.Status.Conditions
	i := slices.IndexFunc(list, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool { return c.Type == of })
	if i < 0 {
		i = len(list)
		list = append(list, autoscalingv2.HorizontalPodAutoscalerCondition{Type: of})
	}
	if list[i].Status != status {
		list[i].LastTransitionTime = metav1.NewTime(l.now)
	}
	list[i].Status, list[i].Reason, list[i].Message = status, reason, message
	l.hpa.Status.Conditions = list
}

func (l *look) unset(of autoscalingv2.HorizontalPodAutoscalerConditionType) {
	l.hpa.Status.Conditions = slices.DeleteFunc(l.hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == of
	})
}

// hasCondition says whether a condition is there and true.
func (l *look) hasCondition(of autoscalingv2.HorizontalPodAutoscalerConditionType) bool {
	return slices.ContainsFunc(l.hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == of && c.Status == corev1.ConditionTrue
	})
}

// hasValueMetric says whether some metric has a value while there are no pods.
func (l *look) hasValueMetric() bool {
	return slices.ContainsFunc(l.hpa.Spec.Metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	})
}
