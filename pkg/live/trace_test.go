package live

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// told collects what a journal says: number, cause, actor, object and type.
type told struct {
	lines []string
}

func (s *told) sink(e trace.Event) {
	line := fmt.Sprintf("%d<%d %s %s %s", e.Seq, e.Cause, e.Actor, e.Object.Name, e.Detail.Type())
	switch d := e.Detail.(type) {
	case trace.Scaled:
		line += fmt.Sprintf(" %d->%d %s", d.From, d.To, d.Why)
	case trace.PodChanged:
		line += fmt.Sprintf(" %s ready=%v terminating=%v", d.Phase, d.Ready, d.Terminating)
	}
	s.lines = append(s.lines, line)
}

func (s *told) is(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Error(diff)
	}
	s.lines = nil
}

func journalFor(s *told) *journal {
	return newJournal(s.sink, clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
}

func setOf(version int, replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-1", UID: "rs", ResourceVersion: strconv.Itoa(version),
			OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "d", Controller: ptr.To(true)}}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas},
	}
}

func podOf(name string, version int, phase corev1.PodPhase, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, GenerateName: "web-1-", UID: types.UID(name), ResourceVersion: strconv.Itoa(version)},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func modified(obj Object) engine.Change { return engine.Change{Verb: engine.Modified, New: obj} }

// A write is told once, with its arithmetic, whether the answer or the watch comes first.
func TestOwnWrites(t *testing.T) {
	for _, fast := range []string{"answer", "watch"} {
		var s told
		j := journalFor(&s)
		j.delivered(engine.Change{Verb: engine.Added, New: setOf(10, 3)}, true)
		s.is(t, "1<0 world web-1 Found")
		r := requestOf("update", "", "ReplicaSet", setOf(10, 4))
		by := author{actor: "deployment", cause: 7, rule: trace.Room}
		j.depart(r)
		if fast == "watch" {
			j.delivered(modified(setOf(11, 4)), false)
			j.delivered(modified(setOf(12, 4)), false) // someone wrote right after
		}
		j.wrote(r, setOf(11, 4), by)
		j.delivered(modified(setOf(11, 4)), false)
		s.is(t, "2<7 deployment web-1 Wrote", "3<7 deployment web-1 Scaled 3->4 Room")
		if seq := j.seqOf(setOf(11, 4)); fast == "answer" && seq != 2 {
			t.Errorf("the delivery follows from %d, want the write, 2", seq)
		}
		if len(j.flights) != 0 {
			t.Errorf("%d writes under way, want none", len(j.flights))
		}
	}
}

func TestFailedWriteLetsGo(t *testing.T) {
	var s told
	j := journalFor(&s)
	j.delivered(engine.Change{Verb: engine.Added, New: setOf(10, 3)}, true)
	r := requestOf("update", "", "ReplicaSet", setOf(10, 4))
	j.depart(r)
	j.delivered(modified(setOf(11, 5)), false)
	s.lines = nil
	j.refused(r, author{actor: "deployment", cause: 7}, fmt.Errorf("conflict"))
	s.is(t, "2<7 deployment web-1 Wrote", "3<0 you web-1 Scaled 3->5 ")
}

// Pods are made under names that only the answer tells: what the watch brings
// meanwhile waits, and only that.
func TestOwnPods(t *testing.T) {
	var s told
	j := journalFor(&s)
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", GenerateName: "web-1-"}}
	r := requestOf("create", "", "Pod", made)
	by := author{actor: "replicaset", cause: 5, rule: trace.Wanted}
	j.depart(r)
	j.depart(r)
	j.delivered(engine.Change{Verb: engine.Added, New: podOf("web-1-a", 11, corev1.PodPending, "")}, false)
	j.delivered(engine.Change{Verb: engine.Added, New: podOf("web-1-b", 12, corev1.PodPending, "")}, false)
	j.delivered(modified(podOf("web-1-a", 13, corev1.PodPending, "n1")), false)
	s.is(t)
	j.wrote(r, podOf("web-1-a", 11, corev1.PodPending, ""), by)
	s.is(t, "1<5 replicaset web-1-a Wrote", "2<5 replicaset web-1-a Created", "3<0 scheduler web-1-a Scheduled")
	j.delivered(modified(podOf("web-1-a", 14, corev1.PodRunning, "n1")), false)
	s.is(t, "4<0 kubelet web-1-a PodChanged Running ready=false terminating=false")
	j.wrote(r, podOf("web-1-b", 12, corev1.PodPending, ""), by)
	s.is(t, "5<5 replicaset web-1-b Wrote", "6<5 replicaset web-1-b Created")
}

// Two watches of the same resource: the slower one brings nothing new, not even after the end.
func TestSlowWatch(t *testing.T) {
	var s told
	j := journalFor(&s)
	pod := podOf("web-1-a", 11, corev1.PodPending, "")
	j.delivered(engine.Change{Verb: engine.Added, New: pod}, false)
	j.delivered(engine.Change{Verb: engine.Deleted, New: podOf("web-1-a", 12, corev1.PodPending, "")}, false)
	s.is(t, "1<0 kubelet web-1-a Created", "2<0 kubelet web-1-a Removed")
	j.delivered(engine.Change{Verb: engine.Added, New: pod}, false)
	j.delivered(engine.Change{Verb: engine.Deleted, New: podOf("web-1-a", 12, corev1.PodPending, "")}, false)
	s.is(t)
}

// A person's change of a workload is told as one.
func TestPersonsChange(t *testing.T) {
	var s told
	j := journalFor(&s)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "d", ResourceVersion: "5", Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(int32(3)), Selector: &metav1.LabelSelector{}},
	}
	j.delivered(engine.Change{Verb: engine.Added, New: d}, true)
	s.lines = nil
	next := d.DeepCopy()
	next.ResourceVersion, next.Generation, next.Spec.Replicas = "6", 2, ptr.To(int32(4))
	j.delivered(modified(next), false)
	s.is(t, "3<0 you web Changed", "4<3 you web Specified")
}
