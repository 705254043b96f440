package replicaset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// memory keeps what was read off each pod of a list until the list is read
// again. Lists come in order of arrival, so two readings run side by side.
type memory[T any] struct {
	reading[T]
	// forget, when set, is told of what is no longer remembered.
	forget func(T)
}

// reading is the pods of a list and what was read off them.
type reading[T any] struct {
	pods []*corev1.Pod
	read []T
}

// lookAhead is how far a pod is searched first among those of the last reading.
const lookAhead = 16

// recall returns what is read off each pod, reading those that are not the same
// objects as last time. The result is the memory's own, until the next call. It
// is written over the last one: pods leave and change far more rarely than they
// stay, and come at the end, so that most of it is in its place already.
func (m *memory[T]) recall(pods []*corev1.Pod, read func(*corev1.Pod) T) []T {
	known, now := m.reading, reading[T]{m.pods[:0], m.read[:0]}
	next, apart := 0, false // in known; and whether known lies apart from now
	if len(known.pods) == 0 {
		now = reading[T]{slices.Grow(now.pods, len(pods)), slices.Grow(now.read, len(pods))}
	}
	for len(pods) > 0 {
		next = m.skip(known, next, distance(known.pods[next:], pods[0]))
		if same := common(known.pods[next:], pods); same > 0 {
			if apart || next != len(now.pods) {
				now = now.with(known.pods[next:next+same], known.read[next:next+same]...)
			} else {
				now = reading[T]{known.pods[:next+same], known.read[:next+same]}
			}
			next, pods = next+same, pods[same:]
			continue
		}
		value := read(pods[0])
		switch {
		case next == len(known.pods):
		case known.pods[next].UID == pods[0].UID:
			next = m.skip(known, next, 1)
		case !apart && next == len(now.pods): // one that came in between needs room
			known, next, apart = reading[T]{slices.Clone(known.pods[next:]), slices.Clone(known.read[next:])}, 0, true
		}
		now, pods = now.with(pods[:1], value), pods[1:]
	}
	m.skip(known, next, len(known.pods)-next)
	if n := len(now.pods); n < len(m.pods) { // no pod that is gone is held on to
		clear(m.pods[n:])
		clear(m.read[n:])
	}
	m.reading = now
	return now.read
}

// distance is how many known pods have left before a pod that is known itself,
// be it as it was or changed. Mostly few have; when many have left at once, it
// is found by what has not changed.
func distance(known []*corev1.Pod, pod *corev1.Pod) int {
	ahead := known[:min(lookAhead, len(known))]
	if i := slices.Index(ahead, pod); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(ahead, func(was *corev1.Pod) bool { return was.UID == pod.UID }); i >= 0 {
		return i
	}
	return max(0, slices.Index(known, pod))
}

// skip goes past pods that are gone.
func (m *memory[T]) skip(known reading[T], from, n int) int {
	if m.forget != nil {
		for _, was := range known.read[from : from+n] {
			m.forget(was)
		}
	}
	return from + n
}

func (r reading[T]) with(pods []*corev1.Pod, read ...T) reading[T] {
	return reading[T]{append(r.pods, pods...), append(r.read, read...)}
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
