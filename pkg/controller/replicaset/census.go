package replicaset

import (
	"reflect"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// census remembers what was seen in the pods of each ReplicaSet. What a cache
// holds never changes, so a pod that is the same object again needs no second
// look: a pass over ten thousand pods costs little when few of them moved.
type census struct {
	mu   sync.Mutex
	sets map[engine.Key]*counted
}

// counted is what the passes over one ReplicaSet saw. No two of them run at once.
type counted struct {
	// sights hold for the selector and template labels they were made with.
	selector *metav1.LabelSelector
	labels   map[string]string
	sights   memory[sighting]
	total    total
	active   []*corev1.Pod // those of the last pass that had to pick them
	// related are all pods of a namespace, by the selectors they are held against.
	selectors []*metav1.LabelSelector
	related   map[string]*memory[relative]
	onNode    map[string]*int32 // counts those that are related, by node
	ranks     memory[rollout.RankLooks]
	ranking   rollout.Ranking
}

// sighting is what matters of one pod.
type sighting struct {
	active      bool // neither ended nor asked to go
	terminating bool // asked to go, still running, and matching the selector
	mine        bool // controlled by the ReplicaSet and matching: claimed without a write
	looks       rollout.PodLooks
}

// total is what the sightings of a ReplicaSet's pods add up to. It is kept as
// pods come, change and go, so that a pass does not count all of them again.
type total struct {
	// counts are those of the active pods; every ready one counts as available.
	counts      rollout.PodCounts
	terminating int32
	unclaimed   int32 // active pods that are not the ReplicaSet's without a write
}

func (t *total) add(s sighting, as int32) {
	switch {
	case s.active:
		t.counts.Add(s.looks, s.looks.Ready, as)
		if !s.mine {
			t.unclaimed += as
		}
	case s.terminating:
		t.terminating += as
	}
}

// relative is what a pod is to the ReplicaSets of one owner.
type relative struct {
	related bool // active, and selected by one of them
	onNode  *int32
}

func newCensus() *census { return &census{sets: map[engine.Key]*counted{}} }

func (c *census) forget(key engine.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sets, key)
}

// of is what is remembered of a ReplicaSet.
func (c *census) of(key engine.Key) *counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.sets[key]
	if set == nil {
		set = &counted{}
		set.startOver()
		c.sets[key] = set
	}
	return set
}

// startOver forgets what was seen in the pods.
func (c *counted) startOver() {
	c.total = total{}
	c.sights = memory[sighting]{forget: func(s sighting) { c.total.add(s, -1) }}
}

// look sees the pods, which are the ReplicaSet's in the cache, in their order.
// The result belongs to the census until the next pass over the same key.
func (c *counted) look(rs *appsv1.ReplicaSet, selector labels.Selector, pods []*corev1.Pod) []sighting {
	var last match
	if c.selector != rs.Spec.Selector || !sameMap(c.labels, rs.Spec.Template.Labels) {
		c.selector, c.labels = rs.Spec.Selector, rs.Spec.Template.Labels
		c.startOver()
	}
	return c.sights.recall(pods, func(pod *corev1.Pod) sighting {
		s := see(rs, last.of(pod, selector), pod)
		c.total.add(s, 1)
		return s
	})
}

// pick returns those of the pods last looked at that are active. The result
// belongs to the census until the next pass over the same key.
func (c *counted) pick() []*corev1.Pod {
	if int(c.total.counts.Active) == len(c.sights.pods) {
		return slices.Clip(c.sights.pods)
	}
	last := c.active
	c.active = slices.Grow(last[:0], int(c.total.counts.Active))
	for i := range c.sights.read {
		if c.sights.read[i].active {
			c.active = append(c.active, c.sights.pods[i])
		}
	}
	if n := len(c.active); n < len(last) { // no pod that is gone is held on to
		clear(last[n:])
	}
	return slices.Clip(c.active)
}

// relateTo forgets who was related when it was to other ReplicaSets, or to
// others of their selectors. The ranks go as well: they know the counts.
func (c *counted) relateTo(sets []*appsv1.ReplicaSet) {
	selects := func(s *metav1.LabelSelector, rs *appsv1.ReplicaSet) bool { return s == rs.Spec.Selector }
	if slices.EqualFunc(c.selectors, sets, selects) {
		return
	}
	c.related, c.onNode, c.selectors, c.ranks = nil, nil, nil, memory[rollout.RankLooks]{}
	for _, rs := range sets {
		c.selectors = append(c.selectors, rs.Spec.Selector)
	}
}

// relatives is what was seen in all pods of a namespace.
func (c *counted) relatives(namespace string) *memory[relative] {
	m := c.related[namespace]
	if m == nil {
		m = &memory[relative]{forget: func(r relative) { r.weigh(-1) }}
		if c.related == nil {
			c.related = map[string]*memory[relative]{}
		}
		c.related[namespace] = m
	}
	return m
}

// on is where the related pods of a node are counted.
func (c *counted) on(node string) *int32 {
	count := c.onNode[node]
	if count == nil {
		count = new(int32)
		if c.onNode == nil {
			c.onNode = map[string]*int32{}
		}
		c.onNode[node] = count
	}
	return count
}

// weigh counts a pod on its node, or no longer.
func (r relative) weigh(by int32) {
	if r.related {
		*r.onNode += by
	}
}

func see(rs *appsv1.ReplicaSet, matches bool, pod *corev1.Pod) sighting {
	owner := metav1.GetControllerOfNoCopy(pod)
	return sighting{
		active:      rollout.IsPodActive(pod),
		terminating: matches && rollout.IsPodTerminating(pod),
		mine:        matches && owner != nil && owner.UID == rs.UID,
		looks:       rollout.LookAt(rs, pod),
	}
}

// match remembers how the last pod was matched: those that were made together
// share their labels.
type match struct {
	labels  map[string]string
	matches bool
}

func (m *match) of(pod *corev1.Pod, selectors ...labels.Selector) bool {
	if m.labels == nil || !sameMap(m.labels, pod.Labels) {
		m.labels, m.matches = pod.Labels, matchesAny(selectors, pod)
	}
	return m.matches
}

func sameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}
