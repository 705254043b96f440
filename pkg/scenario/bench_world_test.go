package scenario_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// BenchmarkTrace rolls a thousand replicas with each depth of trace: what
// tracing costs is the difference from none.
func BenchmarkTrace(b *testing.B) {
	for _, depth := range []struct {
		name string
		keep trace.Depth
	}{{"none", -1}, {"decisions", trace.Decisions}, {"pods", trace.Pods}, {"all", trace.Syncs}} {
		b.Run(depth.name, func(b *testing.B) {
			benchmarkRoll(b, 1000, 20, func() *trace.Log { return &trace.Log{Depth: depth.keep} }, nil)
		})
	}
}

// BenchmarkConstrained rolls replicas whose pods spread over zones and keep
// off each other's nodes where they can: what the scheduler's constraints cost.
func BenchmarkConstrained(b *testing.B) {
	for _, size := range []struct{ replicas, nodes int }{{100, 20}, {1000, 100}} {
		b.Run(fmt.Sprint(size.replicas), func(b *testing.B) {
			benchmarkRoll(b, size.replicas, size.nodes, trace.NewLog, spread)
		})
	}
}

// spread gives a pod spec a constraint and a preference.
func spread(spec *corev1.PodSpec) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
	}}
	spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selector},
		}},
	}}
}

// benchmarkRoll rolls a Deployment out whose new template has this spec.
func benchmarkRoll(b *testing.B, replicas, nodes int, newLog func() *trace.Log, with func(*corev1.PodSpec)) {
	defer predict.CollectRarely()()
	goal := rollAll
	goal.Begin = func(ctx context.Context, hand engine.Hand) error {
		got, err := hand.Get(ctx, goal.Workloads[0])
		if err != nil {
			return err
		}
		d := got.(*appsv1.Deployment)
		d.Spec.Template.Spec.Containers[0].Image = "web:v2"
		if with != nil {
			with(&d.Spec.Template.Spec)
		}
		_, err = hand.Apply(ctx, d)
		return err
	}
	var cpu time.Duration
	b.ReportAllocs()
	for range b.N {
		b.StopTimer()
		w := rollable(b, replicas, nodes, newLog())
		before := cpuTime()
		b.StartTimer()
		outcome, err := w.Run(context.Background(), goal)
		cpu += cpuTime() - before
		if err != nil || outcome.Why != "Complete" {
			b.Fatalf("ended %+v: %v", outcome, err)
		}
	}
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s")
}
