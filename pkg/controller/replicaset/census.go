package replicaset

import (
	"reflect"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// census remembers what each pass saw in the pods of a ReplicaSet. What a cache
// holds never changes, so a pod that is the same object again needs no second
// look: a pass over ten thousand pods costs little when few of them moved.
type census struct {
	mu   sync.Mutex
	sets map[engine.Key]*counted
}

// counted is the last pass over one ReplicaSet. It holds for the selector and
// template labels it was made with.
type counted struct {
	selector *metav1.LabelSelector
	labels   map[string]string
	sights   []sighting
}

// sighting is what matters of one pod.
type sighting struct {
	pod         *corev1.Pod
	active      bool // neither ended nor asked to go
	terminating bool // asked to go, still running, and matching the selector
	mine        bool // controlled by the ReplicaSet and matching: claimed without a write
	looks       rollout.PodLooks
}

func newCensus() *census { return &census{sets: map[engine.Key]*counted{}} }

func (c *census) forget(key engine.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sets, key)
}

// look sees the pods, which are the ReplicaSet's in the cache, in their order.
// The result belongs to the census until the next pass over the same key.
func (c *census) look(rs *appsv1.ReplicaSet, selector labels.Selector, pods []*corev1.Pod) []sighting {
	c.mu.Lock()
	last := c.sets[keyOf(rs)]
	c.mu.Unlock()
	if last == nil || last.selector != rs.Spec.Selector || !sameMap(last.labels, rs.Spec.Template.Labels) {
		last = &counted{selector: rs.Spec.Selector, labels: rs.Spec.Template.Labels}
	}
	seen := last.sights
	now := make([]sighting, 0, len(pods))
	for _, pod := range pods {
		// Pods leave and change far more rarely than they stay: what was seen
		// before is next in line, or a little further on.
		if i := seenAt(seen, pod); i >= 0 {
			now = append(now, seen[i])
			seen = seen[i+1:]
			continue
		}
		now = append(now, see(rs, selector, pod))
		if len(seen) > 0 && seen[0].pod.UID == pod.UID {
			seen = seen[1:]
		}
	}
	last.sights = now
	c.mu.Lock()
	c.sets[keyOf(rs)] = last
	c.mu.Unlock()
	return now
}

// lookAhead is how far a pod is searched among those seen before.
const lookAhead = 16

func seenAt(seen []sighting, pod *corev1.Pod) int {
	for i := range min(len(seen), lookAhead) {
		if seen[i].pod == pod {
			return i
		}
	}
	return -1
}

func see(rs *appsv1.ReplicaSet, selector labels.Selector, pod *corev1.Pod) sighting {
	matches := selector.Matches(labels.Set(pod.Labels))
	owner := metav1.GetControllerOfNoCopy(pod)
	return sighting{
		pod: pod, active: rollout.IsPodActive(pod),
		terminating: matches && rollout.IsPodTerminating(pod),
		mine:        matches && owner != nil && owner.UID == rs.UID,
		looks:       rollout.LookAt(rs, pod),
	}
}

func sameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}
