package live

import (
	"cmp"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Times is how long pods took from their binding to being ready.
type Times struct {
	Pods      int // measured
	Mean, P95 time.Duration
	// Low and High bound an even spread with the mean and the variance of what was measured.
	Low, High time.Duration
}

// Measure is how long the pods of a workload, a Deployment or a ReplicaSet,
// have taken. Times are false where no pod tells.
func (s *Snapshot) Measure(workload Object) (Times, bool) {
	owners := map[types.UID]bool{}
	if rs, ok := workload.(*appsv1.ReplicaSet); ok {
		owners[rs.UID] = true
	}
	for _, rs := range s.ReplicaSets {
		if metav1.IsControlledBy(rs, workload) {
			owners[rs.UID] = true
		}
	}
	var all []measured
	for _, pod := range s.Pods {
		if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || !owners[owner.UID] {
			continue
		}
		if m, ok := timeToReady(pod); ok {
			all = append(all, m)
		}
	}
	all = withoutRelapses(all)
	if len(all) == 0 {
		return Times{}, false
	}
	return spread(all), true
}

// measured is one pod's time, in whole seconds, and the second in which it was bound.
type measured struct {
	bound int64
	took  float64
}

// timeToReady is what the conditions tell of a pod that became ready once. A
// restarted container has made its pod ready a second time.
func timeToReady(pod *corev1.Pod) (measured, bool) {
	var bound, ready time.Time
	for _, c := range pod.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PodScheduled:
			bound = c.LastTransitionTime.Time
		case corev1.PodReady:
			ready = c.LastTransitionTime.Time
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].RestartCount > 0 {
			return measured{}, false
		}
	}
	return measured{bound.Unix(), ready.Sub(bound).Seconds()}, !bound.IsZero() && !ready.IsZero() && !ready.Before(bound) && pod.DeletionTimestamp == nil
}

// withoutRelapses leaves out pods that took far longer than most: their probes
// failed later on, and the condition tells of the recovery.
func withoutRelapses(all []measured) []measured {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b measured) int { return cmp.Compare(a.took, b.took) })
	limit := 5*all[len(all)/2].took + 10
	return slices.DeleteFunc(all, func(m measured) bool { return m.took > limit })
}

// rounding is the variance that two times cut to whole seconds add to their difference.
const rounding = 1.0 / 6

// spread makes an even spread of sorted times. The mean of differences of
// whole seconds is right, as both ends lose half a second on average; their
// variance is too large by a known amount, and tells nothing where all of them
// lie within the second that rounding alone explains.
//
// Each second in which pods were bound counts as much as any other: of pods
// that are bound together, as in the burst that begins a rollout, all are cut
// alike, and many of them know no more than one.
func spread(all []measured) Times {
	weight := map[int64]float64{}
	for _, m := range all {
		weight[m.bound]++
	}
	seconds := float64(len(weight))
	for bound, pods := range weight {
		weight[bound] = 1 / pods / seconds
	}
	mean, variance := 0.0, 0.0
	for _, m := range all {
		mean += m.took * weight[m.bound]
	}
	for _, m := range all {
		variance += (m.took - mean) * (m.took - mean) * weight[m.bound]
	}
	half := math.Sqrt(3 * max(variance-rounding, 0))
	if all[len(all)-1].took-all[0].took <= 1 {
		half = 0
	}
	low, high := max(mean-half, 0), mean+half
	t := Times{Pods: len(all), Mean: tenths(mean), Low: tenths(low), High: tenths(high)}
	t.P95 = tenths(low + 0.95*(high-low))
	return t
}

// tenths is a duration to the tenth of a second: the sources are no finer.
func tenths(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*10)) * 100 * time.Millisecond
}
