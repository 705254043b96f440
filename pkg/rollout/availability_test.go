package rollout

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func readyPod(since time.Time) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	return pod
}

func TestPodStates(t *testing.T) {
	gone := metav1.NewTime(rankNow)
	tests := map[string]struct {
		phase                         corev1.PodPhase
		deleted                       *metav1.Time
		active, terminating, terminal bool
	}{
		"pending":            {corev1.PodPending, nil, true, false, false},
		"running":            {corev1.PodRunning, nil, true, false, false},
		"asked to go":        {corev1.PodRunning, &gone, false, true, false},
		"succeeded":          {corev1.PodSucceeded, nil, false, false, true},
		"failed":             {corev1.PodFailed, nil, false, false, true},
		"failed while going": {corev1.PodFailed, &gone, false, false, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: tc.deleted}, Status: corev1.PodStatus{Phase: tc.phase}}
			if IsPodActive(pod) != tc.active || IsPodTerminating(pod) != tc.terminating || IsPodTerminal(pod) != tc.terminal {
				t.Errorf("active %v, terminating %v, terminal %v", IsPodActive(pod), IsPodTerminating(pod), IsPodTerminal(pod))
			}
		})
	}
}

func TestAvailabilityAtItsBoundary(t *testing.T) {
	ready := rankNow
	tests := map[string]struct {
		min       int32
		after     time.Duration
		now, then bool // 1.34 and later, before
	}{
		"a nanosecond short":       {10, 10*time.Second - 1, false, false},
		"at the boundary":          {10, 10 * time.Second, true, false},
		"a nanosecond past":        {10, 10*time.Second + 1, true, true},
		"no minReadySeconds":       {0, 0, true, true},
		"none, with a slow clock":  {0, -time.Hour, true, true},
		"ready since a minute, 60": {60, time.Minute, true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := readyPod(ready)
			at := ready.Add(tc.after)
			if got := Version(34).IsPodAvailable(pod, tc.min, at); got != tc.now {
				t.Errorf("v1.34: %v", got)
			}
			if got := Version(33).IsPodAvailable(pod, tc.min, at); got != tc.then {
				t.Errorf("v1.33: %v", got)
			}
		})
	}
	if LatestVersion.IsPodAvailable(readyPod(time.Time{}), 1, ready) {
		t.Error("without a transition time a pod is available only when minReadySeconds is 0")
	}
	notReady := readyPod(ready)
	notReady.Status.Conditions[0].Status = corev1.ConditionFalse
	if LatestVersion.IsPodAvailable(notReady, 0, ready.Add(time.Hour)) || IsPodReady(&corev1.Pod{}) {
		t.Error("a pod that is not ready is not available")
	}
}

func TestNextAvailability(t *testing.T) {
	at := func(seconds float64) time.Time { return rankNow.Add(time.Duration(seconds * float64(time.Second))) }
	tests := map[string]struct {
		ready          []float64 // seconds at which each pod turned ready
		min            int32
		evaluated, now float64
		want           time.Duration
		ok             bool
	}{
		"the earliest counts":              {[]float64{3, 1, 2}, 10, 5, 5, 6 * time.Second, true},
		"measured from the later clock":    {[]float64{1}, 10, 5, 5.5, 5500 * time.Millisecond, true},
		"past since the status: at once":   {[]float64{1, 9}, 10, 10.9, 11.1, 0, true},
		"exactly at the boundary: at once": {[]float64{1}, 10, 10, 11, 0, true},
		"available pods do not wait":       {[]float64{1}, 10, 11, 11, 0, false},
		"the next after those available":   {[]float64{1, 5}, 10, 12, 12, 3 * time.Second, true},
		"no minReadySeconds":               {[]float64{1}, 0, 1, 1, 0, false},
		"no pods":                          {nil, 10, 1, 1, 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{{}, readyPod(time.Time{})} // neither can be waited for
			for _, s := range tc.ready {
				pods = append(pods, readyPod(at(s)))
			}
			got, ok := NextAvailability(pods, tc.min, at(tc.evaluated), at(tc.now))
			if got != tc.want || ok != tc.ok {
				t.Errorf("got %v %v, want %v %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}

// Whoever looks again when told finds one more pod available.
func TestLookingAgainFindsAnAvailablePod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pods []*corev1.Pod
		for _, s := range rapid.SliceOfN(rapid.IntRange(0, 100), 1, 10).Draw(t, "ready") {
			pods = append(pods, readyPod(rankNow.Add(-time.Duration(s)*time.Second)))
		}
		minReady := rapid.Int32Range(1, 100).Draw(t, "min")
		available := func(now time.Time) (n int) {
			for _, pod := range pods {
				if LatestVersion.IsPodAvailable(pod, minReady, now) {
					n++
				}
			}
			return n
		}
		after, ok := NextAvailability(pods, minReady, rankNow, rankNow)
		if ok != (available(rankNow) < len(pods)) {
			t.Fatalf("waits %v with %d of %d available", ok, available(rankNow), len(pods))
		}
		if ok && (available(rankNow.Add(after)) <= available(rankNow) || available(rankNow.Add(after-1)) != available(rankNow)) {
			t.Fatalf("after %v: %d -> %d", after, available(rankNow), available(rankNow.Add(after)))
		}
	})
}
