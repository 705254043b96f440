package hpa

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// askResource is a metric of the pods' resources (computeStatusForResourceMetric).
func (l *look) askResource(m *autoscalingv2.ResourceMetricSource) (reading, error) {
	r, current, err := l.askUsage(string(m.Name), m.Name, "", m.Target)
	if err != nil {
		return r, err
	}
	r.status = autoscalingv2.MetricStatus{
		Type:     autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricStatus{Name: m.Name, Current: current},
	}
	return r, nil
}

// askContainer is a metric of one container's resources (computeStatusForContainerResourceMetric).
func (l *look) askContainer(m *autoscalingv2.ContainerResourceMetricSource) (reading, error) {
	r, current, err := l.askUsage(ofContainer(m.Container, m.Name), m.Name, m.Container, m.Target)
	if err != nil {
		return r, err
	}
	r.status = autoscalingv2.MetricStatus{
		Type:              autoscalingv2.ContainerResourceMetricSourceType,
		ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{Name: m.Name, Container: m.Container, Current: current},
	}
	return r, nil
}

// askUsage is usage against an average, or against what the pods request
// (computeStatusForResourceMetricGeneric).
func (l *look) askUsage(metric string, name corev1.ResourceName, container string, target autoscalingv2.MetricTarget) (reading, autoscalingv2.MetricValueStatus, error) {
	var current autoscalingv2.MetricValueStatus
	r := reading{metric: fmt.Sprintf("%s resource", name)}
	what := "usage"
	weight := func() (gauge, error) { return plain(target.AverageValue.MilliValue()), nil }
	if target.AverageValue == nil {
		if target.AverageUtilization == nil {
			return r, current, fmt.Errorf("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set")
		}
		what, r.metric = "utilization", fmt.Sprintf("%s resource utilization (percentage of request)", name)
		if container != "" {
			r.metric = fmt.Sprintf("%s container resource utilization (percentage of request)", name)
		}
		weight = func() (gauge, error) {
			requests, err := requestsOf(l.pods, container, name)
			return utilization(*target.AverageUtilization, requests), err
		}
	}
	var seen usage
	var err error
	if r.replicas, seen, err = l.weigh(metric, name, weight); err != nil {
		return r, current, fmt.Errorf("failed to get %s %s: %w", name, what, err)
	}
	format := resource.DecimalSI
	if name == corev1.ResourceMemory {
		format = resource.BinarySI
	}
	current.AverageValue = resource.NewMilliQuantity(seen.average, format)
	if target.AverageValue == nil {
		current.AverageUtilization = &seen.utilization
	}
	return r, current, nil
}

// askPods is a metric that each pod has of its own (computeStatusForPodsMetric).
func (l *look) askPods(m *autoscalingv2.PodsMetricSource) (reading, error) {
	name := m.Metric.Name
	target := m.Target.AverageValue
	if target == nil {
		target = &resource.Quantity{}
	}
	wanted, seen, err := l.weigh(name, "", func() (gauge, error) { return plain(target.MilliValue()), nil })
	if err != nil {
		return reading{}, err
	}
	return reading{wanted, "pods metric " + name, autoscalingv2.MetricStatus{
		Type: autoscalingv2.PodsMetricSourceType,
		Pods: &autoscalingv2.PodsMetricStatus{Metric: m.Metric, Current: autoscalingv2.MetricValueStatus{AverageValue: plainQuantity(seen.average)}},
	}}, nil
}

// weigh is what the pods' samples of a metric ask for; name is the resource,
// if it is one.
func (l *look) weigh(metric string, name corev1.ResourceName, weight func() (gauge, error)) (int32, usage, error) {
	load, _ := l.Load(targetOf(l.hpa), metric)
	samples := load.samples(l.pods, l.now, name != "")
	g := groupPods(l.pods, samples, name == corev1.ResourceCPU, l.now)
	l.unsettled = l.unsettled || !load.Missing && warming(l.pods, g)
	switch {
	case (load.Missing || len(samples) == 0) && name != "":
		return 0, usage{}, fmt.Errorf("unable to get metrics for resource %s: %w", name, errNoResourceMetrics)
	case load.Missing || len(samples) == 0:
		return 0, usage{}, fmt.Errorf("unable to get metric %s: %w", metric, errNoCustomMetrics)
	}
	if err := g.drop(samples); err != nil {
		return 0, usage{}, err
	}
	by, err := weight()
	if err != nil {
		return 0, usage{}, err
	}
	return replicasFor(samples, g, by, l.current, l.tolerances())
}

// warming says that a pod serves whose sample does not count yet.
func warming(pods []*corev1.Pod, g groups) bool {
	waiting := map[string]bool{}
	for _, list := range [][]string{g.unready, g.missing} {
		for _, name := range list {
			waiting[name] = true
		}
	}
	for _, pod := range pods {
		if waiting[pod.Name] && serves(pod) {
			return true
		}
	}
	return false
}

// askObject is a metric of another object (computeStatusForObjectMetric).
func (l *look) askObject(m *autoscalingv2.ObjectMetricSource) (reading, error) {
	load, _ := l.Load(targetOf(l.hpa), m.Metric.Name)
	of := m.DescribedObject
	if load.Missing {
		resource, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(of.APIVersion, of.Kind))
		return reading{}, fmt.Errorf("unable to get metric %s on %s %s/%s: unable to fetch metrics from custom metrics API: the server could not find the metric %s for %s %s",
			m.Metric.Name, of.Kind, l.hpa.Namespace, of.Name, m.Metric.Name, resource.GroupResource(), of.Name)
	}
	out := autoscalingv2.ObjectMetricStatus{DescribedObject: of, Metric: m.Metric}
	status := autoscalingv2.MetricStatus{Type: autoscalingv2.ObjectMetricSourceType, Object: &out}
	value := load.Total.MilliValue()
	switch {
	case m.Target.Type == autoscalingv2.ValueMetricType && m.Target.Value != nil:
		wanted, err := replicasForRatio(float64(value)/float64(m.Target.Value.MilliValue()), l.pods, l.current, l.tolerances())
		out.Current.Value = plainQuantity(value)
		return reading{wanted, fmt.Sprintf("%s metric %s", of.Kind, m.Metric.Name), status}, err
	case m.Target.Type == autoscalingv2.AverageValueMetricType && m.Target.AverageValue != nil:
		wanted, average := replicasPerPod(value, m.Target.AverageValue.MilliValue(), l.scale.Status.Replicas, l.tolerances())
		out.Current.AverageValue = plainQuantity(average)
		// Upstream calls it external here.
		return reading{wanted, fmt.Sprintf("external metric %s(%+v)", m.Metric.Name, m.Metric.Selector), status}, nil
	}
	return reading{}, fmt.Errorf("invalid object metric source: neither a value target nor an average value target was set")
}

// askExternal is a metric of nothing in the cluster (computeStatusForExternalMetric).
func (l *look) askExternal(m *autoscalingv2.ExternalMetricSource) (reading, error) {
	load, _ := l.Load(targetOf(l.hpa), m.Metric.Name)
	if load.Missing {
		return reading{}, fmt.Errorf("unable to get external metric %s/%s/%+v: %w", l.hpa.Namespace, m.Metric.Name, m.Metric.Selector, errNoExternalMetrics)
	}
	out := autoscalingv2.ExternalMetricStatus{Metric: m.Metric}
	r := reading{
		metric: fmt.Sprintf("external metric %s(%+v)", m.Metric.Name, m.Metric.Selector),
		status: autoscalingv2.MetricStatus{Type: autoscalingv2.ExternalMetricSourceType, External: &out},
	}
	value := load.Total.MilliValue()
	switch {
	case m.Target.AverageValue != nil:
		wanted, average := replicasPerPod(value, m.Target.AverageValue.MilliValue(), l.scale.Status.Replicas, l.tolerances())
		r.replicas, out.Current.AverageValue = wanted, plainQuantity(average)
		return r, nil
	case m.Target.Value != nil:
		wanted, err := replicasForRatio(float64(value)/float64(m.Target.Value.MilliValue()), l.pods, l.current, l.tolerances())
		r.replicas, out.Current.Value = wanted, plainQuantity(value)
		return r, err
	}
	return reading{}, fmt.Errorf("invalid external metric source: neither a value target nor an average value target was set")
}

func plainQuantity(milli int64) *resource.Quantity {
	return resource.NewMilliQuantity(milli, resource.DecimalSI)
}
