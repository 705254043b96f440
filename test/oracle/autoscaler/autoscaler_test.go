package autoscaler

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"
	"unsafe"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

var (
	cases = flag.Int("cases", envInt("CASES", 20_000), "cases for each comparison (env CASES)")
	seed  = flag.Uint64("seed", uint64(envInt("SEED", 1)), "seed of the cases (env SEED)")
)

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

type draw struct{ *rand.Rand }

func (r draw) chance(percent int) bool { return r.IntN(100) < percent }

// below is a number from 0 to n, mostly small.
func (r draw) below(n int) int32 { return int32(r.IntN(1 + r.IntN(n+1))) }

// ago is some whole and a half ten seconds, so that a moment more or less on
// upstream's clock, which is the real one, changes nothing.
func (r draw) ago(now time.Time, tens int) time.Time {
	return now.Add(-time.Duration(r.IntN(tens))*10*time.Second - 5*time.Second)
}

func each(t *testing.T, check func(t *testing.T, r draw)) {
	t.Helper()
	for i := range *cases {
		if check(t, draw{rand.New(rand.NewPCG(*seed, uint64(i)))}); t.Failed() {
			t.Fatalf("-seed=%d case %d", *seed, i)
		}
	}
}

const (
	cpuInitialization = 5 * time.Minute
	initialReadiness  = 30 * time.Second
)

// reported is a metrics API that says what a case says.
type reported struct {
	metrics.MetricsClient
	samples metrics.PodMetricsInfo
}

func (r reported) GetResourceMetric(context.Context, corev1.ResourceName, string, labels.Selector, string) (metrics.PodMetricsInfo, time.Time, error) {
	return maps.Clone(r.samples), time.Time{}, nil
}

// pods draws pods of all ages, and samples of most of them.
func (r draw) pods(now time.Time) (pods []*corev1.Pod, samples map[string]sample) {
	samples = map[string]sample{}
	for i := range r.IntN(8) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("web-%d", i)}}
		for c := range 1 + r.IntN(2) {
			container := corev1.Container{Name: fmt.Sprintf("c%d", c)}
			if !r.chance(4) {
				container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(r.below(1000)), resource.DecimalSI)}
			}
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
		pod.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed}[r.IntN(5)]
		if r.chance(10) {
			pod.DeletionTimestamp = &metav1.Time{Time: now}
		}
		started := r.ago(now, 60)
		if !r.chance(5) {
			pod.Status.StartTime = &metav1.Time{Time: started}
		}
		if !r.chance(5) {
			ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.ago(now, 60))}
			if r.chance(30) {
				ready.Status = corev1.ConditionFalse
			}
			if r.chance(30) {
				ready.LastTransitionTime.Time = started.Add(time.Duration(r.IntN(60)) * time.Second)
			}
			pod.Status.Conditions = []corev1.PodCondition{ready}
		}
		if r.chance(80) {
			samples[pod.Name] = sample{value: int64(r.below(2000)), at: r.ago(now, 30), window: time.Duration(15*r.IntN(5)) * time.Second}
		}
		pods = append(pods, pod)
	}
	return pods, samples
}

func calculator(pods []*corev1.Pod, samples map[string]sample) *podautoscaler.ReplicaCalculator {
	said := reported{samples: metrics.PodMetricsInfo{}}
	for pod, s := range samples {
		said.samples[pod] = metrics.PodMetric{Timestamp: s.at, Window: s.window, Value: s.value}
	}
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, pod := range pods {
		_ = store.Add(pod) // a store in memory takes it
	}
	return podautoscaler.NewReplicaCalculator(said, corelisters.NewPodLister(store), cpuInitialization, initialReadiness)
}

func upstreamTolerances(t tolerances) podautoscaler.Tolerances {
	return *(*podautoscaler.Tolerances)(unsafe.Pointer(&t))
}

// ours puts the parts together as the plugin's pass does.
func ours(pods []*corev1.Pod, samples map[string]sample, now time.Time, isCPU bool, current int32, t tolerances, weight func() (gauge, error)) (int32, usage, error) {
	if len(pods) == 0 {
		return 0, usage{}, fmt.Errorf("no pods returned by selector while calculating replica count")
	}
	samples = maps.Clone(samples)
	g := groupPods(pods, samples, isCPU, now)
	if err := drop(&g, samples); err != nil {
		return 0, usage{}, err
	}
	by, err := weight()
	if err != nil {
		return 0, usage{}, err
	}
	return replicasFor(samples, g, by, current, t)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// missing requests are told of the first pod, which is any upstream.
func sameError(a, b error) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	const missing = "missing request for"
	return text(a) == text(b) || len(text(a)) > len(missing) && text(a)[:len(missing)] == missing && text(b)[:min(len(missing), len(text(b)))] == missing
}

// TestUtilization compares percentages of the requests (GetResourceReplicas).
func TestUtilization(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		now := time.Now()
		pods, samples := r.pods(now)
		current, target, tol := 1+r.below(8), 1+r.below(150), tolerances{.1, .1}
		if r.chance(30) {
			tol = tolerances{r.Float64() / 2, r.Float64() / 2}
		}
		container := []string{"", "", "c0"}[r.IntN(3)]
		theirs, percent, raw, _, theirErr := calculator(pods, samples).GetResourceReplicas(context.Background(), current, target, corev1.ResourceCPU,
			upstreamTolerances(tol), "team", labels.Everything(), container)
		wanted, seen, err := ours(pods, samples, now, true, current, tol, func() (gauge, error) {
			requests, err := requestsOf(pods, container, corev1.ResourceCPU)
			return utilization(target, requests), err
		})
		if !sameError(err, theirErr) || err == nil && (wanted != theirs || seen.utilization != percent || seen.average != raw) {
			t.Errorf("%d pods at %d%%, %d, %v; upstream %d at %d%%, %d, %v", wanted, seen.utilization, seen.average, err, theirs, percent, raw, theirErr)
		}
	})
}

// TestUsage compares averages (GetRawResourceReplicas).
func TestUsage(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		now := time.Now()
		pods, samples := r.pods(now)
		current, target, tol := 1+r.below(8), int64(1+r.below(1500)), tolerances{.1, .1}
		name := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}[r.IntN(2)]
		theirs, raw, _, theirErr := calculator(pods, samples).GetRawResourceReplicas(context.Background(), current, target, name,
			upstreamTolerances(tol), "team", labels.Everything(), "")
		wanted, seen, err := ours(pods, samples, now, name == corev1.ResourceCPU, current, tol, func() (gauge, error) { return plain(target), nil })
		if !sameError(err, theirErr) || err == nil && (wanted != theirs || seen.average != raw) {
			t.Errorf("%d pods, %d, %v; upstream %d, %d, %v", wanted, seen.average, err, theirs, raw, theirErr)
		}
	})
}

// TestLimit compares bounds without behavior (convertDesiredReplicasWithRules).
func TestLimit(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		current, wanted, lowest := r.below(30), r.below(80), r.below(10)
		highest := lowest + r.below(60)
		a := limit(current, wanted, lowest, highest)
		n, reason, message := upstreamLimit(current, wanted, lowest, highest)
		if a != (advice{n, reason, message}) {
			t.Errorf("%d in %d..%d from %d: %+v; upstream %d %s %s", wanted, lowest, highest, current, a, n, reason, message)
		}
	})
}

// rules draws one direction of a behavior, as the server fills it in.
func (r draw) rules() *autoscalingv2.HPAScalingRules {
	window := r.below(60) * 10
	choice := []autoscalingv2.ScalingPolicySelect{autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect}[min(r.IntN(5), 2)]
	out := &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window, SelectPolicy: &choice}
	for range 1 + r.IntN(2) {
		kind := []autoscalingv2.HPAScalingPolicyType{autoscalingv2.PodsScalingPolicy, autoscalingv2.PercentScalingPolicy}[r.IntN(2)]
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy{Type: kind, Value: 1 + r.below(120), PeriodSeconds: 10 + r.below(30)*10})
	}
	return out
}

// field is a field of upstream's controller that is not exported.
func field(c *podautoscaler.HorizontalController, name string) unsafe.Pointer {
	return reflect.ValueOf(c).Elem().FieldByName(name).Addr().UnsafePointer()
}

// TestBehavior compares windows and rates (stabilizeRecommendationWithBehaviors,
// convertDesiredReplicasWithBehaviorRate) with a past of their own.
func TestBehavior(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		now := time.Now()
		c, m := &podautoscaler.HorizontalController{}, &memory{}
		var said []upstreamRecommendation
		for range r.IntN(6) {
			rec := recommendation{r.below(40), r.ago(now, 70)}
			m.recommendations, said = append(m.recommendations, rec), append(said, upstreamRecommendation{rec.replicas, rec.at})
		}
		past := func() (ours []scaling, theirs []upstreamScaling) {
			for range r.IntN(4) {
				s := scaling{r.below(15), r.ago(now, 40)}
				ours, theirs = append(ours, s), append(theirs, upstreamScaling{replicaChange: s.change, timestamp: s.at})
			}
			return ours, theirs
		}
		ups, upstreamUps := past()
		downs, upstreamDowns := past()
		m.ups, m.downs = ups, downs
		*(*map[string][]upstreamRecommendation)(field(c, "recommendations")) = map[string][]upstreamRecommendation{"k": said}
		*(*map[string][]upstreamScaling)(field(c, "scaleUpEvents")) = map[string][]upstreamScaling{"k": upstreamUps}
		*(*map[string][]upstreamScaling)(field(c, "scaleDownEvents")) = map[string][]upstreamScaling{"k": upstreamDowns}

		b := &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: r.rules(), ScaleDown: r.rules()}
		current, lowest := r.below(30), r.below(10)
		args := podautoscaler.NormalizationArg{Key: "k", ScaleUpBehavior: b.ScaleUp, ScaleDownBehavior: b.ScaleDown,
			MinReplicas: lowest, MaxReplicas: lowest + r.below(60), CurrentReplicas: current, DesiredReplicas: r.below(60)}
		rated := limitBy(m, b, current, args.DesiredReplicas, lowest, args.MaxReplicas, now)
		n, reason, message := upstreamLimitBy(c, args)
		if rated != (advice{n, reason, message}) {
			t.Errorf("rate: %+v; upstream %d %s %s of %+v", rated, n, reason, message, args)
		}
		stable := stabilizeBy(m, b, current, args.DesiredReplicas, now)
		n, reason, message = upstreamStabilizeBy(c, args)
		if stable != (advice{n, reason, message}) {
			t.Errorf("window: %+v; upstream %d %s %s of %+v", stable, n, reason, message, args)
		}
		if kept := (*(*map[string][]upstreamRecommendation)(field(c, "recommendations")))["k"]; len(kept) != len(m.recommendations) {
			t.Errorf("%d recommendations are remembered; upstream %d", len(m.recommendations), len(kept))
		}
	})
}
