package rollout

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RankRule is the rule that puts one pod before another when a ReplicaSet
// chooses which to delete.
type RankRule string

// The rules in the order in which they are asked; the first that tells two
// pods apart decides. (controller.ActivePodsWithRanks)
const (
	// RankUnassigned: a pod without a node goes before one that has a node.
	RankUnassigned RankRule = "Unassigned"
	// RankPhase: Pending goes before Unknown, Unknown before Running.
	RankPhase RankRule = "Phase"
	// RankNotReady: a pod that is not ready goes before one that is.
	RankNotReady RankRule = "NotReady"
	// RankDeletionCost: the lower pod-deletion-cost goes first.
	RankDeletionCost RankRule = "DeletionCost"
	// RankNodeCrowded: the node with more active pods of the same owner gives first.
	RankNodeCrowded RankRule = "NodeCrowded"
	// RankReadyAge: the pod ready for less time, in powers of two, goes first.
	RankReadyAge RankRule = "ReadyAge"
	// RankRestarts: the pod with more restarts goes first.
	RankRestarts RankRule = "Restarts"
	// RankAge: the pod created later, in powers of two of its age, goes first.
	RankAge RankRule = "Age"
	// RankUID: times differ but not by a power of two, so that the smaller UID goes first.
	RankUID RankRule = "UID"
	// RankTie: no rule tells the two apart; where they stood in the list decides.
	RankTie RankRule = "Tie"
	// RankAll: every pod goes, so that none was ranked.
	RankAll RankRule = "All"
)

// Victims are the pods a ReplicaSet deletes, in the order it deletes them.
type Victims struct {
	Pods []*corev1.Pod

	ranked []candidate // as Pods, then the first that stays; empty when every pod goes
}

// Ranked says why a victim goes before the first pod that stays.
type Ranked struct {
	Rule RankRule
	// Mine and Other are what the rule compared, as short words or numbers: the
	// victim's value and that of the pod that stays. Ages are powers of two of
	// nanoseconds.
	Mine, Other string
	// Stays is the first pod that stays; nil when none does.
	Stays *corev1.Pod
	// OnNode is how many active pods of the same owner are on the victim's node,
	// itself among them.
	OnNode int32
}

// ChooseVictims picks n pods to delete out of a ReplicaSet's active pods.
// onNode counts the active pods of the same owner by node name ("" for those
// without a node); now is the time ages are measured from. The order is that of
// Go's sort.Sort under the rules above, so that pods which no rule tells apart
// keep no particular order, yet the same for the same input. pods is left
// alone. (replicaset getPodsToDelete, controller.ActivePodsWithRanks)
func (v Version) ChooseVictims(pods []*corev1.Pod, onNode map[string]int32, n int, now time.Time) Victims {
	if n >= len(pods) || len(pods) == 0 {
		return Victims{Pods: pods}
	}
	looks, counts := make([]RankLooks, len(pods)), make([]int32, len(pods))
	for i, pod := range pods {
		counts[i] = onNode[pod.Spec.NodeName]
		looks[i] = v.LookAtRank(pod, &counts[i])
	}
	var q Ranking
	return q.Choose(looks, n, now)
}

// Choose is ChooseVictims for fewer than all of some pods that were looked at
// before. It leaves ages and neighbours of this time in the looks, which must
// not be another Ranking's.
func (q *Ranking) Choose(looks []RankLooks, n int, now time.Time) Victims {
	if len(looks) == 0 {
		return Victims{}
	}
	q.take(looks, now)
	slices.SortFunc(q.keys, q.order)
	n = max(0, min(n, len(looks)-1))
	victims := Victims{Pods: make([]*corev1.Pod, n), ranked: make([]candidate, n+1)}
	for i := range victims.ranked {
		victims.ranked[i] = *q.candidate(q.keys[i])
	}
	for i := range victims.Pods {
		victims.Pods[i] = victims.ranked[i].pod
	}
	return victims
}

// Why says which rule put the i-th victim before the first pod that stays.
// Some pairs have no order between them, and a few triples go round in a
// circle; for those the answer is a tie.
func (c Victims) Why(i int) Ranked {
	if len(c.ranked) == 0 {
		return Ranked{Rule: RankAll}
	}
	mine, other := &c.ranked[i], &c.ranked[len(c.ranked)-1]
	why := Ranked{Rule: RankTie, Stays: other.pod, OnNode: mine.onNode}
	if rule, order := compare(mine, other); order < 0 {
		why.Rule = rule
		why.Mine, why.Other = mine.value(rule, other), other.value(rule, mine)
	}
	return why
}

// RankLooks is what the rules compare in one pod: all but its ages and its
// neighbours, which change while the pod does not.
type RankLooks struct {
	candidate
	neighbours *int32 // where they are counted
	choice     uint64 // the Ranking's, as of which ages and neighbours are
}

// candidate is a pod with all that the rules compare, read once.
type candidate struct {
	pod       *corev1.Pod
	readyAt   time.Time // zero unless ready
	createdAt time.Time
	readyAge  int64  // bucket
	age       int64  // bucket
	uid       uint64 // first bytes, for most comparisons
	cost      int32
	onNode    int32
	restarts  int32 // most of any container
	sidecars  int32 // most restarts of any sidecar
	phase     int8
	assigned  bool
	ready     bool
}

// LookAtRank reads what the rules compare in a pod. onNode is where the active
// pods of the same owner on its node are counted; each choice reads it anew.
func (v Version) LookAtRank(pod *corev1.Pod, onNode *int32) RankLooks {
	c := candidate{
		pod:       pod,
		createdAt: pod.CreationTimestamp.Time,
		uid:       uidPrefix(pod.UID),
		cost:      deletionCost(pod.Annotations),
		restarts:  mostRestarts(pod),
		phase:     phaseOrdinal(pod.Status.Phase),
		assigned:  pod.Spec.NodeName != "",
	}
	if ready := PodReadyCondition(pod); ready != nil && ready.Status == corev1.ConditionTrue {
		c.ready, c.readyAt = true, ready.LastTransitionTime.Time
	}
	if v.RanksSidecarRestarts() {
		c.sidecars = mostSidecarRestarts(pod)
	}
	return RankLooks{candidate: c, neighbours: onNode}
}

// set notes what the present says of the pod.
func (l *RankLooks) set(ages *ages) {
	l.onNode = *l.neighbours
	l.age = ages.of(l.createdAt)
	if l.ready {
		l.readyAge = ages.of(l.readyAt)
	}
}

// ages tells buckets of age. Neighbours in a list are often of one age, so it
// keeps the last answer.
type ages struct {
	now, last time.Time
	bucket    int64
}

func agesAt(now time.Time) ages { return ages{now: now, bucket: ageBucket(time.Time{}, now)} }

func (a *ages) of(t time.Time) int64 {
	if t != a.last {
		a.last, a.bucket = t, ageBucket(t, a.now)
	}
	return a.bucket
}

// compare is negative when a goes before b, and names the rule that says so.
func compare(a, b *candidate) (RankRule, int) {
	switch {
	case a.assigned != b.assigned:
		return RankUnassigned, first(!a.assigned)
	case a.phase != b.phase:
		return RankPhase, first(a.phase < b.phase)
	case a.ready != b.ready:
		return RankNotReady, first(!a.ready)
	case a.cost != b.cost:
		return RankDeletionCost, first(a.cost < b.cost)
	case a.onNode != b.onNode:
		return RankNodeCrowded, first(a.onNode > b.onNode)
	case a.ready && !a.readyAt.Equal(b.readyAt):
		return compareAges(RankReadyAge, a, b, a.readyAt, b.readyAt, a.readyAge, b.readyAge)
	case a.restarts != b.restarts:
		return RankRestarts, first(a.restarts > b.restarts)
	case a.sidecars != b.sidecars:
		return RankRestarts, first(a.sidecars > b.sidecars)
	case !a.createdAt.Equal(b.createdAt):
		return compareAges(RankAge, a, b, a.createdAt, b.createdAt, a.age, b.age)
	}
	return RankTie, 0
}

// compareAges orders two pods by times that differ: one without a time goes
// first, then the younger bucket, then the smaller UID.
func compareAges(rule RankRule, a, b *candidate, at, bt time.Time, aBucket, bBucket int64) (RankRule, int) {
	switch {
	case at.IsZero() || bt.IsZero():
		return rule, first(at.IsZero())
	case aBucket != bBucket:
		return rule, first(aBucket < bBucket)
	}
	return RankUID, compareUIDs(a, b)
}

// compareUIDs orders UIDs as strings; it reads the pods only when their first
// bytes are equal, since reading them takes most of the time of a sort.
func compareUIDs(a, b *candidate) int {
	if a.uid != b.uid {
		return first(a.uid < b.uid)
	}
	return strings.Compare(string(a.pod.UID), string(b.pod.UID))
}

// uidPrefix is the first eight bytes as a number that orders as they do; a
// shorter UID is filled up with zeros.
func uidPrefix(uid types.UID) uint64 {
	var prefix [8]byte
	copy(prefix[:], uid)
	return binary.BigEndian.Uint64(prefix[:])
}

func first(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// value is what a rule saw in the candidate when it compared it with other.
func (c *candidate) value(rule RankRule, other *candidate) string {
	switch rule {
	case RankUnassigned:
		return either(c.assigned, c.pod.Spec.NodeName, "none")
	case RankPhase:
		return string(c.pod.Status.Phase)
	case RankNotReady:
		return either(c.ready, "Ready", "NotReady")
	case RankDeletionCost:
		return number(int64(c.cost))
	case RankNodeCrowded:
		return number(int64(c.onNode))
	case RankReadyAge:
		return either(c.readyAt.IsZero(), "none", number(c.readyAge))
	case RankRestarts:
		return number(int64(c.restartsAgainst(other)))
	case RankAge:
		return either(c.createdAt.IsZero(), "none", number(c.age))
	case RankUID:
		return string(c.pod.UID)
	}
	return ""
}

func (c *candidate) restartsAgainst(other *candidate) int32 {
	if c.restarts != other.restarts {
		return c.restarts
	}
	return c.sidecars
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// ageBucket is the power of two of an age in nanoseconds, cut to a whole
// number; -1 for no age at all. It goes through floating point as upstream
// does, which rounds very long ages. (controller.logarithmicRankDiff)
func ageBucket(t, now time.Time) int64 {
	d := now.Sub(t)
	if d <= 0 {
		return -1
	}
	return int64(math.Log2(float64(d)))
}

// phaseOrdinal is 0 for Pending and for phases that cannot be ranked.
func phaseOrdinal(phase corev1.PodPhase) int8 {
	switch phase {
	case corev1.PodUnknown:
		return 1
	case corev1.PodRunning:
		return 2
	}
	return 0
}

// deletionCost reads the pod-deletion-cost annotation: a decimal int32 without
// plus sign or leading zeros, anything else being 0.
// (apis/core/helper GetDeletionCostFromPodAnnotations)
func deletionCost(annotations map[string]string) int32 {
	s := annotations[corev1.PodDeletionCost]
	if s == "" || s[0] == '+' || s[0] == '0' {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func mostRestarts(pod *corev1.Pod) (most int32) {
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

// mostSidecarRestarts looks at init containers that restart always.
func mostSidecarRestarts(pod *corev1.Pod) (most int32) {
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		if status.RestartCount > most && isSidecar(pod, status.Name) {
			most = status.RestartCount
		}
	}
	return most
}

func isSidecar(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			return true
		}
	}
	return false
}
