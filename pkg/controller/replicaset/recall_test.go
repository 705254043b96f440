package replicaset

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// However pods come, change and go between two readings, a memory says what
// reading every pod would, and reads nothing of a list that is the same again.
func TestMemoryForgetsWhatChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		remembered := map[string]int{}
		m := memory[string]{forget: func(name string) {
			if remembered[name]--; remembered[name] == 0 {
				delete(remembered, name)
			}
		}}
		var pods []*corev1.Pod
		made := 0
		version := func(uid types.UID) *corev1.Pod {
			made++
			pod := &corev1.Pod{}
			pod.UID, pod.Name = uid, fmt.Sprint(made)
			return pod
		}
		for range rapid.IntRange(1, 6).Draw(t, "readings") {
			pods = slices.DeleteFunc(slices.Clone(pods), func(*corev1.Pod) bool { return rapid.IntRange(0, 3).Draw(t, "goes") == 0 })
			for i, pod := range pods {
				if rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
					pods[i] = version(pod.UID)
				}
			}
			for range rapid.IntRange(0, 30).Draw(t, "come") {
				pods = append(pods, version(types.UID(fmt.Sprint("uid", made))))
			}
			for range rapid.IntRange(0, 2).Draw(t, "come in between") {
				at := rapid.IntRange(0, len(pods)).Draw(t, "where")
				pods = slices.Insert(pods, at, version(types.UID(fmt.Sprint("uid", made))))
			}
			got := m.recall(pods, func(pod *corev1.Pod) string {
				remembered[pod.Name]++
				return pod.Name
			})
			for _, pod := range pods {
				if len(remembered) != len(pods) || remembered[pod.Name] != 1 {
					t.Fatalf("%s is remembered %d times, with %d of %d", pod.Name, remembered[pod.Name], len(remembered), len(pods))
				}
			}
			for i, pod := range pods {
				if got[i] != pod.Name {
					t.Fatalf("pod %d of %d is remembered as %s, is %s", i, len(pods), got[i], pod.Name)
				}
			}
			reads := 0
			m.recall(pods, func(pod *corev1.Pod) string { reads++; return pod.Name })
			if len(got) != len(pods) || reads != 0 {
				t.Fatalf("%d answers for %d pods, %d read again", len(got), len(pods), reads)
			}
		}
	})
}

// Many pods may leave at once, and one beside them change: nothing else is read again.
func TestMemoryReadsChangesAlone(t *testing.T) {
	var m memory[string]
	pods := make([]*corev1.Pod, 1000)
	for i := range pods {
		pods[i] = &corev1.Pod{}
		pods[i].UID, pods[i].Name = types.UID(fmt.Sprint("uid", i)), fmt.Sprint(i)
	}
	var read []string
	look := func(pod *corev1.Pod) string {
		read = append(read, pod.Name)
		return pod.Name
	}
	m.recall(slices.Clone(pods), look)
	pods[99], pods[310], pods[700] = pods[99].DeepCopy(), pods[310].DeepCopy(), pods[700].DeepCopy()
	pods = slices.Concat(pods[:100], pods[200:300], pods[310:690], pods[700:])
	read = nil
	m.recall(pods, look)
	if want := []string{"99", "310", "700"}; !slices.Equal(read, want) {
		t.Errorf("read %v, want %v", read, want)
	}
}
