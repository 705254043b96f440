package scenario_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// BenchmarkRollout rolls a Deployment at 25%/25% over nodes of 110 pods with
// cluster timing and a full trace: from the change to the last old pod gone.
// Setting the world up is not measured. cpu-s is the whole process' time,
// collections included, which are as rare as in the plan command.
func BenchmarkRollout(b *testing.B) {
	defer predict.CollectRarely()()
	for _, size := range []struct{ replicas, nodes int }{{10, 3}, {100, 3}, {500, 12}, {1000, 20}, {10_000, 200}, {100_000, 5000}} {
		b.Run(fmt.Sprint(size.replicas), func(b *testing.B) {
			if size.replicas > 10_000 && testing.Short() {
				b.Skip("a hundred thousand replicas take their time")
			}
			var virtual, cpu time.Duration
			var events int
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				log := trace.NewLog()
				w := rollable(b, size.replicas, size.nodes, log)
				before := cpuTime()
				b.StartTimer()
				outcome, err := w.Run(context.Background(), rollAll)
				cpu += cpuTime() - before
				b.StopTimer()
				if err != nil || outcome.Why != "Complete" {
					b.Fatalf("ended %+v: %v", outcome, err)
				}
				virtual, events = outcome.Duration, len(log.Events())
				b.StartTimer()
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(virtual.Seconds(), "virtual-s")
			b.ReportMetric(float64(events)/seconds, "events/s")
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(1e6*cpu.Seconds()/float64(b.N)/float64(size.replicas), "cpu-us/replica")
		})
	}
}

// cpuTime is what the process has used so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var rollAll = engine.Goal{
	Workloads: []trace.Ref{{Kind: "Deployment", Namespace: "default", Name: "web"}}, Limit: 24 * time.Hour,
	Begin: func(ctx context.Context, hand engine.Hand) error {
		got, err := hand.Get(ctx, trace.Ref{Kind: "Deployment", Namespace: "default", Name: "web"})
		if err != nil {
			return err
		}
		d := got.(*appsv1.Deployment)
		d.Spec.Template.Spec.Containers[0].Image = "web:v2"
		_, err = hand.Apply(ctx, d)
		return err
	},
}

// rollable is a world with a finished Deployment.
func rollable(tb testing.TB, replicas, nodes int, log *trace.Log) *scenario.World {
	w, err := scenario.NewWorld(scenario.Parts{
		Seed: 1, Timing: sim.ClusterTiming(), Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Log: log,
		Pods: func(*corev1.Pod) kubelet.Profile {
			return kubelet.Profile{ReadyAfter: kubelet.Exactly(2 * time.Second), ExitAfter: kubelet.Exactly(time.Second)}
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range nodes {
		if err := w.Load(node(fmt.Sprintf("node-%d", i+1), "110")); err != nil {
			tb.Fatal(err)
		}
	}
	var r recording
	r.Params.Replicas, r.Params.Strategy = int32(replicas), appsv1.RollingUpdateDeploymentStrategyType
	quarter := intstr.FromString("25%")
	r.Params.MaxSurge, r.Params.MaxUnavailable = &quarter, &quarter
	d := r.deployment("web:v1")
	forever := int32(1<<31 - 1)
	d.Spec.ProgressDeadlineSeconds = &forever
	if err := w.Settle(context.Background(), d); err != nil {
		tb.Fatal(err)
	}
	return w
}
