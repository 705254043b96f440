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
		var m memory[string]
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
			got := m.recall(pods, func(pod *corev1.Pod) string { return pod.Name })
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
