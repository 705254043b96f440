package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var rankNow = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// rankPod reads a pod from words: "a node=n1 phase=Running ready=2h age=3h
// cost=-1 restarts=2 sidecar=1 uid=x". Without ready it is not ready; ready=0
// is ready without a transition time.
func rankPod(t *testing.T, words string) *corev1.Pod {
	t.Helper()
	name, rest, _ := strings.Cut(words, " ")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(rankNow.Add(-24 * time.Hour))}}
	pod.Status.Phase = corev1.PodRunning
	for _, word := range strings.Fields(rest) {
		key, value, _ := strings.Cut(word, "=")
		setRankField(t, pod, key, value)
	}
	return pod
}

func setRankField(t *testing.T, pod *corev1.Pod, key, value string) {
	t.Helper()
	switch key {
	case "node":
		pod.Spec.NodeName = value
	case "phase":
		pod.Status.Phase = corev1.PodPhase(value)
	case "uid":
		pod.UID = types.UID(value)
	case "age":
		pod.CreationTimestamp = ago(t, value)
	case "ready":
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(t, value)},
		}
	case "cost":
		pod.Annotations = map[string]string{corev1.PodDeletionCost: value}
	case "restarts":
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: count(t, value)}, {RestartCount: 1}}
	case "sidecar":
		pod.Spec.InitContainers = []corev1.Container{{Name: "init"}, {Name: "proxy", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 99}, {Name: "proxy", RestartCount: count(t, value)}}
	default:
		t.Fatalf("unknown field %q", key)
	}
}

func ago(t *testing.T, s string) metav1.Time {
	t.Helper()
	if s == "0" {
		return metav1.Time{}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return metav1.NewTime(rankNow.Add(-d))
}

func count(t *testing.T, s string) (n int32) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func rankPods(t *testing.T, words ...string) []*corev1.Pod {
	t.Helper()
	pods := make([]*corev1.Pod, len(words))
	for i, w := range words {
		pods[i] = rankPod(t, w)
	}
	return pods
}

// crowd counts pods by node, as the controller does over all related pods.
func crowd(pods ...*corev1.Pod) map[string]int32 {
	onNode := map[string]int32{}
	for _, pod := range pods {
		onNode[pod.Spec.NodeName]++
	}
	return onNode
}

func podNames(pods []*corev1.Pod) []string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = pod.Name
	}
	return names
}

// The cases are those people reported; the letters are their ids.
func TestVictimsOfReportedCases(t *testing.T) {
	perMinute := make([]string, 13) // C68: one pod a minute, p1 the oldest, on three nodes
	for i := range perMinute {
		node := "n1"
		if i >= 5 {
			node = "n2"
		}
		if i >= 9 {
			node = "n3"
		}
		age := time.Duration(13-i) * time.Minute
		perMinute[i] = fmt.Sprintf("p%d node=%s ready=%s age=%s", i+1, node, age, age)
	}
	tests := map[string]struct {
		pods    []string
		related []string // beside pods
		n       int
		want    []string // as a set
		first   Ranked   // why the first victim goes; Stays is left out
	}{
		"C67 the crowded node is emptied": {
			pods: []string{"a node=node01 ready=1h", "b node=node01 ready=2h", "c node=node01 ready=3h", "d node=node02 ready=1m", "e node=node02 ready=2m"},
			n:    3, want: []string{"a", "b", "c"},
			first: Ranked{Rule: RankNodeCrowded, Mine: "3", Other: "2", OnNode: 3},
		},
		"C68 the crowded node before youth": {
			pods: perMinute, n: 1, want: []string{"p5"},
			first: Ranked{Rule: RankReadyAge, Mine: "38", Other: "39", OnNode: 5},
		},
		"C68 then the youngest bucket": {
			pods: slices.Delete(slices.Clone(perMinute), 4, 5), n: 1, want: []string{"p13"},
			first: Ranked{Rule: RankReadyAge, Mine: "35", Other: "36", OnNode: 4},
		},
		"C69 not ready before a low cost": {
			pods: []string{"old node=n1 ready=1h cost=-1", "fresh node=n2 age=1s"}, n: 1, want: []string{"fresh"},
			first: Ranked{Rule: RankNotReady, Mine: "NotReady", Other: "Ready", OnNode: 1},
		},
		"C69 both ready: the low cost": {
			pods: []string{"fresh node=n2 ready=1s", "old node=n1 ready=1h cost=-1"}, n: 1, want: []string{"old"},
			first: Ranked{Rule: RankDeletionCost, Mine: "-1", Other: "0", OnNode: 1},
		},
		"C71 an old pod beside a new one": {
			pods:    []string{"old-a node=n1 ready=2h", "old-b node=n2 ready=70m"},
			related: []string{"new-1 node=n1"}, n: 1, want: []string{"old-a"},
			first: Ranked{Rule: RankNodeCrowded, Mine: "2", Other: "1", OnNode: 2},
		},
		"C72 unscheduled first": {
			pods: []string{"A node=n1 ready=1h", "B node=n2", "C node=n3 phase=Pending", "D phase=Pending", "E node=n4 ready=1h"},
			n:    1, want: []string{"D"},
			first: Ranked{Rule: RankUnassigned, Mine: "none", Other: "n3", OnNode: 1},
		},
		"C72 then pending": {
			pods: []string{"A node=n1 ready=1h", "B node=n2", "C node=n3 phase=Pending", "E node=n4 ready=1h"}, n: 1, want: []string{"C"},
			first: Ranked{Rule: RankPhase, Mine: "Pending", Other: "Running", OnNode: 1},
		},
		"C72 then not ready": {
			pods: []string{"A node=n1 ready=1h", "B node=n2", "E node=n4 ready=1h"}, n: 1, want: []string{"B"},
			first: Ranked{Rule: RankNotReady, Mine: "NotReady", Other: "Ready", OnNode: 1},
		},
		"C81 the replacement goes when the pod comes back": {
			pods: []string{"A node=n1 ready=290s", "B node=n2 ready=290s", "C node=n3 ready=290s", "D node=n4 ready=190s"},
			n:    1, want: []string{"D"},
			first: Ranked{Rule: RankReadyAge, Mine: "37", Other: "38", OnNode: 1},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pods := rankPods(t, tc.pods...)
			onNode := crowd(append(rankPods(t, tc.related...), pods...)...)
			got := LatestVersion.ChooseVictims(pods, onNode, tc.n, rankNow)
			if names := podNames(got.Pods); !cmp.Equal(sorted(names), sorted(tc.want)) {
				t.Errorf("victims %v, want %v", names, tc.want)
			}
			why := got.Why(0)
			why.Stays = nil
			if diff := cmp.Diff(tc.first, why); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// Two pods, the first of which goes; the rule and its values say why.
func TestRankRules(t *testing.T) {
	tests := map[string]struct {
		goes, stays string
		version     Version
		want        Ranked
	}{
		"unknown before running":               {"a node=n phase=Unknown", "b node=n", 37, Ranked{Rule: RankPhase, Mine: "Unknown", Other: "Running"}},
		"an odd phase ranks as pending":        {"a node=n phase=Odd", "b node=n phase=Unknown", 37, Ranked{Rule: RankPhase, Mine: "Odd", Other: "Unknown"}},
		"two unassigned: phase decides":        {"a phase=Pending", "b", 37, Ranked{Rule: RankPhase, Mine: "Pending", Other: "Running"}},
		"a bad cost is none":                   {"a cost=-1", "b cost=010", 37, Ranked{Rule: RankDeletionCost, Mine: "-1", Other: "0"}},
		"a cost with plus is none":             {"a cost=+10", "b cost=1", 37, Ranked{Rule: RankDeletionCost, Mine: "0", Other: "1"}},
		"a cost beyond 32 bits is none":        {"a cost=2147483648", "b cost=1", 37, Ranked{Rule: RankDeletionCost, Mine: "0", Other: "1"}},
		"a fraction is none":                   {"a cost=1.5", "b cost=1", 37, Ranked{Rule: RankDeletionCost, Mine: "0", Other: "1"}},
		"just under a power of two":            {"a ready=34s", "b ready=35s", 37, Ranked{Rule: RankReadyAge, Mine: "34", Other: "35"}},
		"ready in the future is youngest":      {"a ready=-5s", "b ready=1s", 37, Ranked{Rule: RankReadyAge, Mine: "-1", Other: "29"}},
		"ready without a time goes first":      {"a ready=0", "b ready=1s", 37, Ranked{Rule: RankReadyAge, Mine: "none", Other: "29"}},
		"same bucket: UID, not age":            {"b ready=60s uid=1", "a ready=50s uid=2", 37, Ranked{Rule: RankUID, Mine: "1", Other: "2"}},
		"same ready time: restarts":            {"a ready=60s restarts=3", "b ready=60s restarts=2", 37, Ranked{Rule: RankRestarts, Mine: "3", Other: "2"}},
		"restarts of sidecars count":           {"a ready=60s restarts=2 sidecar=5", "b ready=60s restarts=2 sidecar=4", 37, Ranked{Rule: RankRestarts, Mine: "5", Other: "4"}},
		"but not before 1.32":                  {"a age=1h sidecar=0", "b age=20h sidecar=9", 31, Ranked{Rule: RankAge, Mine: "41", Other: "46"}},
		"not ready: the younger":               {"a age=1m", "b age=1h", 37, Ranked{Rule: RankAge, Mine: "35", Other: "41"}},
		"not ready, same bucket: UID":          {"a age=1h uid=1", "b age=61m uid=2", 37, Ranked{Rule: RankUID, Mine: "1", Other: "2"}},
		"no creation time goes first":          {"a age=0", "b age=1s", 37, Ranked{Rule: RankAge, Mine: "none", Other: "29"}},
		"ready equally long: creation decides": {"a ready=10s age=1m", "b ready=10s age=1h", 37, Ranked{Rule: RankAge, Mine: "35", Other: "41"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, pods := range [][]*corev1.Pod{rankPods(t, tc.goes, tc.stays), rankPods(t, tc.stays, tc.goes)} {
				got := tc.version.ChooseVictims(pods, nil, 1, rankNow)
				why := got.Why(0)
				if want := tc.stays[:1]; why.Stays.Name != want {
					t.Fatalf("%s stays, want %s", why.Stays.Name, want)
				}
				why.Stays = nil
				if diff := cmp.Diff(tc.want, why); diff != "" {
					t.Errorf("why (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestVictimsAtTheEdges(t *testing.T) {
	pods := rankPods(t, "b", "a", "c")
	all := LatestVersion.ChooseVictims(pods, nil, 3, rankNow)
	if diff := cmp.Diff([]string{"b", "a", "c"}, podNames(all.Pods)); diff != "" {
		t.Errorf("when all go they are not ranked:\n%s", diff)
	}
	if why := all.Why(1); why != (Ranked{Rule: RankAll}) {
		t.Errorf("why = %+v", why)
	}
	if got := LatestVersion.ChooseVictims(pods, nil, 4, rankNow); len(got.Pods) != 3 {
		t.Errorf("more victims than pods: %d", len(got.Pods))
	}
	if got := LatestVersion.ChooseVictims(pods, nil, -1, rankNow); len(got.Pods) != 0 {
		t.Errorf("fewer victims than none: %d", len(got.Pods))
	}
	tie := LatestVersion.ChooseVictims(pods, nil, 1, rankNow)
	if why := tie.Why(0); why.Rule != RankTie || why.Mine != "" {
		t.Errorf("equal pods: %+v", why)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, podNames(pods)); diff != "" {
		t.Errorf("the list was changed:\n%s", diff)
	}
}
