package hpa

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// measurement is what all metrics together ask for; -1 replicas when they
// cannot say.
type measurement struct {
	replicas int32
	metric   string // the one that asks for the most
	statuses []autoscalingv2.MetricStatus
	none     bool // no metric has a load
}

// reading is what one metric asks for.
type reading struct {
	replicas int32
	metric   string
	status   autoscalingv2.MetricStatus
}

// failure is a metric that cannot be read: the word for it, and the error that
// its condition and Event show.
type failure struct {
	reason string
	err    error
}

// measure asks every metric that has a load and takes the most any asks for.
// Metrics that fail keep the size from shrinking (computeReplicasForMetrics).
func (l *look) measure() (measurement, error) {
	specs := l.withLoad()
	if len(specs) == 0 {
		return measurement{none: true}, nil
	}
	if err := l.findPods(); err != nil {
		return measurement{replicas: -1}, err
	}
	out := measurement{statuses: make([]autoscalingv2.MetricStatus, len(specs))}
	invalid, first := 0, error(nil)
	var condition failure
	for i := range specs {
		r, failed, err := l.ask(&specs[i])
		if err != nil {
			if invalid++; first == nil {
				first, condition = err, failed
			}
			continue
		}
		out.statuses[i] = r.status
		if out.replicas == 0 || r.replicas > out.replicas {
			out.replicas, out.metric = r.replicas, r.metric
		}
	}
	if first != nil {
		first = fmt.Errorf("invalid metrics (%v invalid out of %v), first error is: %w", invalid, len(specs), first)
	}
	if invalid >= len(specs) || invalid > 0 && out.replicas < l.current {
		l.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, condition.reason, fmt.Sprintf("the HPA was unable to compute the replica count: %v", condition.err))
		out.replicas = -1
		return out, first
	}
	l.set(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound", "the HPA was able to successfully calculate a replica count from "+out.metric)
	return out, first
}

// withLoad are the metrics whose load is known.
func (l *look) withLoad() (out []autoscalingv2.MetricSpec) {
	for _, spec := range l.hpa.Spec.Metrics {
		if _, ok := l.Load(targetOf(l.hpa), metricName(&spec)); ok {
			out = append(out, spec)
		}
	}
	return out
}

// metricName is what a load calls a metric.
func metricName(spec *autoscalingv2.MetricSpec) string {
	switch {
	case spec.Resource != nil:
		return string(spec.Resource.Name)
	case spec.ContainerResource != nil:
		return ofContainer(spec.ContainerResource.Container, spec.ContainerResource.Name)
	case spec.Pods != nil:
		return spec.Pods.Metric.Name
	case spec.Object != nil:
		return spec.Object.Metric.Name
	case spec.External != nil:
		return spec.External.Metric.Name
	}
	return ""
}

// findPods finds the target's pods, which no other autoscaler may count
// (validateAndParseSelector).
func (l *look) findPods() error {
	selector, err := labels.Parse(l.scale.Status.Selector)
	if l.scale.Status.Selector == "" {
		return l.unselectable("SelectorRequired", "InvalidSelector", "selector is required", "the HPA target's scale is missing a selector")
	}
	if err != nil {
		text := fmt.Sprintf("couldn't convert selector into a corresponding internal selector object: %v", err)
		return l.unselectable("InvalidSelector", "InvalidSelector", text, text)
	}
	l.m.selector = selector
	l.pods = podsBy(l.h.Cached(), l.hpa.Namespace, selector)
	if others := l.counting(); len(others) > 1 {
		text := fmt.Sprintf("pods by selector %v are controlled by more than one HPA (e.g. %v)", l.scale.Status.Selector, others)
		return l.unselectable("AmbiguousSelector", "AmbiguousSelector", text, text)
	}
	return nil
}

func (l *look) unselectable(event, reason, text, message string) error {
	l.warn(event, text)
	l.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, reason, message)
	return fmt.Errorf("%s", text)
}

// counter is an autoscaler as upstream prints it.
type counter struct{ name, namespace string }

// counting are two of the autoscalers that count the target's pods, in order of creation.
func (l *look) counting() (out []counter) {
	for _, obj := range l.h.Cached().List(sim.Autoscalers, l.hpa.Namespace) {
		m := l.known[keyOf(obj)]
		if m == nil || m.selector == nil || len(out) == 2 {
			continue
		}
		for _, pod := range l.pods {
			if m.selector.Matches(labels.Set(pod.Labels)) {
				out = append(out, counter{obj.GetName(), obj.GetNamespace()})
				break
			}
		}
	}
	return out
}

// ask is what one metric asks for (computeReplicasForMetric).
func (l *look) ask(spec *autoscalingv2.MetricSpec) (reading, failure, error) {
	var r reading
	var err error
	reason, what := "", ""
	switch {
	case spec.Resource != nil:
		reason, what = "FailedGetResourceMetric", fmt.Sprintf("failed to get %s resource metric value", spec.Resource.Name)
		r, err = l.askResource(spec.Resource)
	case spec.ContainerResource != nil:
		reason, what = "FailedGetContainerResourceMetric", fmt.Sprintf("failed to get %s container metric value", spec.ContainerResource.Container)
		r, err = l.askContainer(spec.ContainerResource)
	case spec.Pods != nil:
		reason, what = "FailedGetPodsMetric", "failed to get pods metric value"
		r, err = l.askPods(spec.Pods)
	case spec.Object != nil:
		reason, what = "FailedGetObjectMetric", "failed to get object metric value"
		if spec.Object.Target.Type == autoscalingv2.AverageValueMetricType {
			what += fmt.Sprintf(": failed to get %s object metric", spec.Object.Metric.Name)
		}
		r, err = l.askObject(spec.Object)
	case spec.External != nil:
		name := spec.External.Metric.Name
		reason, what = "FailedGetExternalMetric", fmt.Sprintf("failed to get %s external metric value: failed to get external metric %s", name, name)
		if spec.External.Target.AverageValue != nil {
			what = fmt.Sprintf("failed to get %s external metric value: failed to get %s external metric", name, name)
		}
		r, err = l.askExternal(spec.External)
	}
	if err != nil {
		l.warn(reason, err.Error())
		return r, failure{reason, err}, fmt.Errorf("%s: %w", what, err)
	}
	return r, failure{}, nil
}

func (l *look) tolerances() tolerances {
	t := tolerances{defaultTolerance, defaultTolerance}
	b := l.hpa.Spec.Behavior
	if b == nil || !l.h.Version().AutoscalerTolerances() {
		return t
	}
	if b.ScaleDown != nil && b.ScaleDown.Tolerance != nil {
		t.down = b.ScaleDown.Tolerance.AsApproximateFloat64()
	}
	if b.ScaleUp != nil && b.ScaleUp.Tolerance != nil {
		t.up = b.ScaleUp.Tolerance.AsApproximateFloat64()
	}
	return t
}
