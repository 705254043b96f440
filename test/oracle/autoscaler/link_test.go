package autoscaler

import (
	"time"
	_ "unsafe" // for linkname

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"

	_ "github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa" // provides what is linked below
)

// Types with the layout of those of plugins/hpa that are not exported.
//
//nolint:unused // a layout has fields that nobody here reads
type (
	tolerances struct{ down, up float64 }
	sample     struct {
		value  int64
		at     time.Time
		window time.Duration
	}
	groups struct {
		ready                     int
		unready, missing, ignored []string
	}
	usage struct {
		ratio       float64
		utilization int32
		average     int64
	}
	gauge struct {
		of     func(map[string]sample) (usage, error)
		absent func(string) int64
	}
	recommendation struct {
		replicas int32
		at       time.Time
	}
	scaling struct {
		change int32
		at     time.Time
	}
	advice struct {
		replicas        int32
		reason, message string
	}
	// memory is its beginning; the rest is zero.
	memory struct {
		selector        labels.Selector
		recommendations []recommendation
		ups, downs      []scaling
		rest            [32]uint64
	}
)

//go:linkname groupPods github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.groupPods
func groupPods(pods []*corev1.Pod, samples map[string]sample, isCPU bool, now time.Time) groups

//go:linkname drop github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.(*groups).drop
func drop(g *groups, samples map[string]sample) error

//go:linkname plain github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.plain
func plain(target int64) gauge

//go:linkname utilization github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.utilization
func utilization(target int32, requests map[string]int64) gauge

//go:linkname requestsOf github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.requestsOf
func requestsOf(pods []*corev1.Pod, container string, name corev1.ResourceName) (map[string]int64, error)

//go:linkname replicasFor github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.replicasFor
func replicasFor(samples map[string]sample, g groups, by gauge, current int32, t tolerances) (int32, usage, error)

//go:linkname limit github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.limit
func limit(current, wanted, lowest, highest int32) advice

//go:linkname limitBy github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.(*memory).limitBy
func limitBy(m *memory, b *autoscalingv2.HorizontalPodAutoscalerBehavior, current, wanted, lowest, highest int32, now time.Time) advice

//go:linkname stabilizeBy github.com/rollout-sim/kubectl-rollout-sim/plugins/hpa.(*memory).stabilizeBy
func stabilizeBy(m *memory, b *autoscalingv2.HorizontalPodAutoscalerBehavior, current, wanted int32, now time.Time) advice

// Upstream's. Its types that are not exported are set by their layout.
//
//nolint:unused // as above
type (
	upstreamRecommendation struct {
		recommendation int32
		timestamp      time.Time
	}
	upstreamScaling struct {
		replicaChange int32
		timestamp     time.Time
		outdated      bool
	}
)

//go:linkname upstreamLimit k8s.io/kubernetes/pkg/controller/podautoscaler.convertDesiredReplicasWithRules
func upstreamLimit(current, desired, lowest, highest int32) (int32, string, string)

//go:linkname upstreamLimitBy k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).convertDesiredReplicasWithBehaviorRate
func upstreamLimitBy(a *podautoscaler.HorizontalController, args podautoscaler.NormalizationArg) (int32, string, string)

//go:linkname upstreamStabilizeBy k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).stabilizeRecommendationWithBehaviors
func upstreamStabilizeBy(a *podautoscaler.HorizontalController, args podautoscaler.NormalizationArg) (int32, string, string)
