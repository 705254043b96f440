package rollout

import (
	"fmt"
	"math"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// plainRanking asks the rules of spec section 2.8 of the pods themselves, one
// by one, and lets sort.Sort move the pods: slow, and the model of ranking.
type plainRanking struct {
	pods   []*corev1.Pod
	onNode map[string]int32
	now    time.Time
}

func (r plainRanking) Len() int      { return len(r.pods) }
func (r plainRanking) Swap(i, j int) { r.pods[i], r.pods[j] = r.pods[j], r.pods[i] }
func (r plainRanking) Less(i, j int) bool {
	a, b := r.pods[i], r.pods[j]
	if x, y := a.Spec.NodeName == "", b.Spec.NodeName == ""; x != y {
		return x
	}
	phases := map[corev1.PodPhase]int{corev1.PodUnknown: 1, corev1.PodRunning: 2}
	if x, y := phases[a.Status.Phase], phases[b.Status.Phase]; x != y {
		return x < y
	}
	if x, y := IsPodReady(a), IsPodReady(b); x != y {
		return y
	}
	if x, y := a.Annotations[corev1.PodDeletionCost], b.Annotations[corev1.PodDeletionCost]; x != y {
		return x == "-1" || y == "1" // the values drawn: -1, none, 1
	}
	if x, y := r.onNode[a.Spec.NodeName], r.onNode[b.Spec.NodeName]; x != y {
		return x > y
	}
	if IsPodReady(a) {
		x, y := a.Status.Conditions[0].LastTransitionTime.Time, b.Status.Conditions[0].LastTransitionTime.Time
		if !x.Equal(y) {
			return r.younger(a, b, x, y)
		}
	}
	if x, y := a.Status.ContainerStatuses[0].RestartCount, b.Status.ContainerStatuses[0].RestartCount; x != y {
		return x > y
	}
	if x, y := a.CreationTimestamp.Time, b.CreationTimestamp.Time; !x.Equal(y) {
		return r.younger(a, b, x, y)
	}
	return false
}

func (r plainRanking) younger(a, b *corev1.Pod, x, y time.Time) bool {
	if x.IsZero() || y.IsZero() {
		return x.IsZero()
	}
	bucket := func(t time.Time) int64 {
		if d := r.now.Sub(t); d > 0 {
			return int64(math.Log2(float64(d)))
		}
		return -1
	}
	if bx, by := bucket(x), bucket(y); bx != by {
		return bx < by
	}
	return a.UID < b.UID
}

// drawPods draws pods out of few values, so that ties are common. With
// distinct, ready and creation times differ from pod to pod.
func drawPods(t *rapid.T, distinct bool) []*corev1.Pod {
	ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 9999), 1, 60, rapid.ID).Draw(t, "ids")
	pods := make([]*corev1.Pod, len(ids))
	for i, id := range ids {
		seconds := rapid.IntRange(0, 40).Draw(t, "seconds")
		if distinct {
			seconds = i + 1
		}
		pod := &corev1.Pod{}
		pod.Name = fmt.Sprintf("p%04d", id)
		pod.UID = types.UID(pod.Name)
		pod.CreationTimestamp.Time = rankNow.Add(-time.Duration(seconds) * time.Second)
		pod.Spec.NodeName = rapid.SampledFrom([]string{"", "n1", "n2", "n3"}).Draw(t, "node")
		pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodUnknown}).Draw(t, "phase")
		if cost := rapid.SampledFrom([]string{"", "", "-1", "1"}).Draw(t, "cost"); cost != "" {
			pod.Annotations = map[string]string{corev1.PodDeletionCost: cost}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: rapid.Int32Range(0, 2).Draw(t, "restarts")}}
		ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
		if rapid.Bool().Draw(t, "ready") {
			ready.Status = corev1.ConditionTrue
			ready.LastTransitionTime = pod.CreationTimestamp
		}
		pod.Status.Conditions = []corev1.PodCondition{ready}
		pods[i] = pod
	}
	return pods
}

// Every victim list is a prefix of what sort.Sort makes of the same input, ties
// and all.
func TestVictimsAreThoseOfSortSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t, false)
		onNode := crowd(pods...)
		n := rapid.IntRange(0, len(pods)-1).Draw(t, "n")
		got := LatestVersion.ChooseVictims(pods, onNode, n, rankNow)

		want := plainRanking{append([]*corev1.Pod(nil), pods...), onNode, rankNow}
		sort.Sort(want)
		if diff := cmp.Diff(podNames(want.pods[:n]), podNames(got.Pods)); diff != "" {
			t.Fatalf("victims (-sort.Sort +got):\n%s", diff)
		}
	})
}

// ranked is the pods as they are ranked, not sorted.
func ranked(pods []*corev1.Pod, onNode map[string]int32) *Ranking {
	var looks []RankLooks
	for _, pod := range pods {
		count := onNode[pod.Spec.NodeName]
		looks = append(looks, LatestVersion.LookAtRank(pod, &count))
	}
	q := &Ranking{}
	q.take(looks, rankNow)
	return q
}

func (q *Ranking) less(i, j int) bool { return q.order(q.keys[i], q.keys[j]) < 0 }

// A ranking that is used again chooses as a new one does, whatever it was used for.
func TestRankingIsUsedAgain(t *testing.T) {
	var q Ranking
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t, false)
		onNode := crowd(pods...)
		n := rapid.IntRange(0, len(pods)-1).Draw(t, "n")
		got := q.Choose(ranked(pods, onNode).looks, n, rankNow)
		want := LatestVersion.ChooseVictims(pods, onNode, n, rankNow)
		if diff := cmp.Diff(podNames(want.Pods), podNames(got.Pods)); diff != "" {
			t.Fatalf("victims (-new +used again):\n%s", diff)
		}
	})
}

// A key decides nothing but what the rules decide, whatever the values.
func TestRankKeyAgreesWithTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) RankLooks {
			c := candidate{
				pod:      &corev1.Pod{},
				cost:     rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, math.MaxInt32}).Draw(t, name+" cost"),
				onNode:   rapid.SampledFrom([]int32{0, 1, 2, mostOnNode, mostOnNode + 1, math.MaxInt32}).Draw(t, name+" on node"),
				uid:      rapid.Uint64Range(0, 2).Draw(t, name+" uid"),
				phase:    rapid.Int8Range(0, 2).Draw(t, name+" phase"),
				assigned: rapid.Bool().Draw(t, name+" assigned"),
				ready:    rapid.Bool().Draw(t, name+" ready"),
			}
			if ages := rapid.IntRange(-1, 3).Draw(t, name+" ready for"); c.ready && ages >= 0 {
				c.readyAt = rankNow.Add(time.Duration(1-ages) * 700 * time.Millisecond)
				c.readyAge = ageBucket(c.readyAt, rankNow)
			}
			c.restarts = rapid.Int32Range(0, 1).Draw(t, name+" restarts")
			c.createdAt = rankNow.Add(-time.Duration(rapid.IntRange(1, 2).Draw(t, name+" age")) * time.Second)
			c.age = ageBucket(c.createdAt, rankNow)
			return RankLooks{candidate: c, neighbours: &c.onNode}
		}
		a, b := draw("a"), draw("b")
		kin := int32(1)
		if b.alike(&a.candidate) {
			kin = 0
		}
		ages := agesAt(rankNow)
		ka, kb := a.key(0, 0, &ages), b.key(1, kin, &ages)
		_, want := compare(&a.candidate, &b.candidate)
		if got, decided := ka.compare(&kb); decided && got != want {
			t.Fatalf("the key says %d, the rules %d", got, want)
		}
	})
}

// Where times differ, the order is total: of two pods one goes first, and
// three never go round in a circle.
func TestRankIsATotalPreorder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t, true)
		q := ranked(pods, crowd(pods...))
		pick := rapid.IntRange(0, len(pods)-1)
		i, j, k := pick.Draw(t, "i"), pick.Draw(t, "j"), pick.Draw(t, "k")
		if q.less(i, j) && q.less(j, i) {
			t.Fatal("both go before the other")
		}
		if i != j && !q.less(i, j) && !q.less(j, i) {
			t.Fatal("neither goes before the other")
		}
		if q.less(i, j) && q.less(j, k) && !q.less(i, k) {
			t.Fatal("not transitive")
		}
	})
}

// No pod that stays would go before a victim under the same rules.
func TestVictimsAreMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t, true)
		onNode := crowd(pods...)
		n := rapid.IntRange(0, len(pods)-1).Draw(t, "n")
		victims := LatestVersion.ChooseVictims(pods, onNode, n, rankNow)
		gone := map[string]bool{}
		for _, pod := range victims.Pods {
			gone[pod.Name] = true
		}
		for _, pod := range pods {
			if gone[pod.Name] {
				continue
			}
			count := onNode[pod.Spec.NodeName]
			stays := LatestVersion.LookAtRank(pod, &count)
			ages := agesAt(rankNow)
			stays.set(&ages)
			for i := range victims.Pods {
				if rule, order := compare(&stays.candidate, &victims.ranked[i]); order < 0 {
					t.Fatalf("%s stays but goes before victim %s by %s", pod.Name, victims.Pods[i].Name, rule)
				}
			}
		}
	})
}

// With equal times the rules are not an order: restarts decide between pods
// ready at the same second, UIDs between others of the same age bucket, and
// three such pods go round in a circle. Upstream has the same.
func TestRankCanGoInACircle(t *testing.T) {
	pods := rankPods(t, "a ready=60s restarts=2 uid=3", "b ready=60s restarts=1 uid=1", "c ready=61s uid=2")
	q := ranked(pods, nil)
	if !q.less(0, 1) || !q.less(1, 2) || !q.less(2, 0) {
		t.Errorf("a<b %v, b<c %v, c<a %v; want all true", q.less(0, 1), q.less(1, 2), q.less(2, 0))
	}
}

func BenchmarkChooseVictims(b *testing.B) {
	pods := make([]*corev1.Pod, 10000)
	for i := range pods {
		pod := &corev1.Pod{}
		pod.UID = types.UID(fmt.Sprint(i * 7919 % 10007))
		pod.Spec.NodeName = fmt.Sprint("n", i%100)
		pod.Status.Phase = corev1.PodRunning
		pod.CreationTimestamp.Time = rankNow.Add(-time.Duration(i/20+1) * time.Second)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp}}
		pods[i] = pod
	}
	onNode := crowd(pods...)
	b.ReportAllocs()
	for b.Loop() {
		LatestVersion.ChooseVictims(pods, onNode, 500, rankNow)
	}
}
