package replicaset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// memory keeps what was read off each pod of a list until the list is read
// again. Lists come in order of arrival, so two readings run side by side.
type memory[T any] struct {
	last, spare reading[T] // spare is the one before last, to be written over
}

// reading is the pods of a list and what was read off them.
type reading[T any] struct {
	pods []*corev1.Pod
	read []T
}

// lookAhead is how far a pod is searched among those of the last reading.
const lookAhead = 16

// recall returns what is read off each pod, reading those that are not the same
// objects as last time. The result is the memory's own, until the next call.
func (m *memory[T]) recall(pods []*corev1.Pod, read func(*corev1.Pod) T) []T {
	known := m.last
	now := reading[T]{slices.Grow(m.spare.pods[:0], len(pods)), slices.Grow(m.spare.read[:0], len(pods))}
	now.pods = append(now.pods, pods...)
	for len(pods) > 0 {
		// Pods leave and change far more rarely than they stay: what was read
		// before is next in line, or a little further on.
		known = known.from(max(0, slices.Index(known.pods[:min(len(known.pods), lookAhead)], pods[0])))
		if same := common(known.pods, pods); same > 0 {
			now.read = append(now.read, known.read[:same]...)
			known, pods = known.from(same), pods[same:]
			continue
		}
		now.read = append(now.read, read(pods[0]))
		if len(known.pods) > 0 && known.pods[0].UID == pods[0].UID {
			known = known.from(1)
		}
		pods = pods[1:]
	}
	clear(m.last.pods) // so that no pod that is gone is held on to
	clear(m.last.read)
	m.last, m.spare = now, m.last
	return now.read
}

// common is how many pods two lists begin with alike.
func common(a, b []*corev1.Pod) int {
	n := min(len(a), len(b))
	for i, pod := range a[:n] {
		if pod != b[i] {
			return i
		}
	}
	return n
}

func (r reading[T]) from(i int) reading[T] { return reading[T]{r.pods[i:], r.read[i:]} }
