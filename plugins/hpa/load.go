package hpa

import (
	"errors"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Load is what one metric says about the pods of one target. Pods that are
// ready share the total; the load does not depend on how many they are.
type Load struct {
	// Target is the Deployment or ReplicaSet that carries the load.
	Target trace.Ref
	// Metric is cpu, memory or another resource, CONTAINER/cpu for that of one
	// container, or the name of a pods, object or external metric.
	Metric string
	// Total is shared evenly by the target's ready pods; for an object or
	// external metric it is the metric's value.
	Total resource.Quantity
	// PerPod says that each pod that reports uses the total, ready or not.
	PerPod bool
	// ReportsAfter is how long after its start a pod has its first sample; nil
	// means 30 seconds for resources, two rounds of a metrics server at its
	// default resolution, and none for other metrics.
	ReportsAfter *time.Duration
	// Missing says that the metrics API has no such metric.
	Missing bool
}

// resolution is how far apart a metrics server's samples are (its
// --metric-resolution), which is also the window of each.
const resolution = 15 * time.Second

// SetLoad replaces what a metric says from now on. Those who look at it next do so because of it.
func (p *Plugin) SetLoad(l Load) {
	place := slices.IndexFunc(p.loads, func(have Load) bool { return have.Target == l.Target && have.Metric == l.Metric })
	if place < 0 {
		p.loads = append(p.loads, l)
	} else {
		p.loads[place] = l
	}
	if p.h == nil {
		return
	}
	p.wake(l.Target.Namespace, func(hpa *autoscalingv2.HorizontalPodAutoscaler, m *memory) bool {
		concerned := hpa.Spec.ScaleTargetRef.Kind == l.Target.Kind && hpa.Spec.ScaleTargetRef.Name == l.Target.Name
		if concerned {
			m.because = p.h.Cause()
		}
		return concerned
	})
}

// Load is what a metric of a target says, and whether that is known.
func (p *Plugin) Load(target trace.Ref, metric string) (Load, bool) {
	for _, l := range p.loads {
		if l.Target == target && l.Metric == metric {
			return l, true
		}
	}
	return Load{}, false
}

// Blind says that none of an autoscaler's metrics has a load.
func (p *Plugin) Blind(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return !slices.ContainsFunc(hpa.Spec.Metrics, func(m autoscalingv2.MetricSpec) bool {
		_, known := p.Load(targetOf(hpa), metricName(&m))
		return known
	})
}

func targetOf(hpa *autoscalingv2.HorizontalPodAutoscaler) trace.Ref {
	return trace.Ref{Kind: hpa.Spec.ScaleTargetRef.Kind, Namespace: hpa.Namespace, Name: hpa.Spec.ScaleTargetRef.Name}
}

// sample is what the metrics API says about one pod.
type sample struct {
	value  int64 // in thousandths
	at     time.Time
	window time.Duration
}

// samples are those of the pods that report, by pod name (metrics/client.go).
func (l *Load) samples(pods []*corev1.Pod, now time.Time, isResource bool) map[string]sample {
	wait := time.Duration(0)
	if isResource {
		wait = 2 * resolution
	}
	if l.ReportsAfter != nil {
		wait = *l.ReportsAfter
	}
	total, serving := l.Total.MilliValue(), int64(0)
	for _, pod := range pods {
		if serves(pod) {
			serving++
		}
	}
	out, n := map[string]sample{}, int64(0)
	for _, pod := range pods {
		s := sample{at: now.Truncate(resolution), window: resolution}
		switch {
		case l.PerPod:
			s.value = total
		case serves(pod):
			// The shares add up to the total.
			s.value = total*(n+1)/serving - total*n/serving
			n++
		}
		if start := pod.Status.StartTime; pod.Status.Phase == corev1.PodRunning && start != nil && !now.Before(start.Add(wait)) {
			out[pod.Name] = s
		}
	}
	return out
}

// serves says whether a pod gets a share of the load: Services send it traffic.
func serves(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && rollout.IsPodReady(pod)
}

var (
	errNoResourceMetrics = errors.New("no metrics returned from resource metrics API")
	errNoCustomMetrics   = errors.New("no metrics returned from custom metrics API")
	errNoExternalMetrics = errors.New("no metrics returned from external metrics API")
)

// Observed are the loads that an autoscaler's own status tells of, as totals
// over the ready pods of its target: what holds as long as nobody says otherwise.
func Observed(world sim.Reader, hpa *autoscalingv2.HorizontalPodAutoscaler) []Load {
	if _, ok := targetResource(hpa); !ok {
		return nil
	}
	var out []Load
	keep := func(metric string, per *resource.Quantity, pods int64, total *resource.Quantity) {
		switch {
		case total != nil:
			out = append(out, Load{Target: targetOf(hpa), Metric: metric, Total: *total})
		case per != nil && pods > 0:
			sum := resource.NewMilliQuantity(per.MilliValue()*pods, per.Format)
			out = append(out, Load{Target: targetOf(hpa), Metric: metric, Total: *sum})
		}
	}
	ready, replicas := counted(world, hpa), int64(hpa.Status.CurrentReplicas)
	for _, s := range hpa.Status.CurrentMetrics {
		switch {
		case s.Resource != nil:
			keep(string(s.Resource.Name), s.Resource.Current.AverageValue, ready, nil)
		case s.ContainerResource != nil:
			keep(ofContainer(s.ContainerResource.Container, s.ContainerResource.Name), s.ContainerResource.Current.AverageValue, ready, nil)
		case s.Pods != nil:
			keep(s.Pods.Metric.Name, s.Pods.Current.AverageValue, ready, nil)
		case s.Object != nil:
			keep(s.Object.Metric.Name, s.Object.Current.AverageValue, replicas, s.Object.Current.Value)
		case s.External != nil:
			keep(s.External.Metric.Name, s.External.Current.AverageValue, replicas, s.External.Current.Value)
		}
	}
	return out
}

// ofContainer names a container's resource as a metric.
func ofContainer(container string, name corev1.ResourceName) string {
	return container + "/" + string(name)
}

// counted is how many pods of the target serve now.
func counted(world sim.Reader, hpa *autoscalingv2.HorizontalPodAutoscaler) (n int64) {
	selector, err := selectorOf(world, hpa)
	if err != nil {
		return 0
	}
	for _, pod := range podsBy(world, hpa.Namespace, selector) {
		if serves(pod) {
			n++
		}
	}
	return n
}
