package live

import (
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// watched is a follower that has found deployment/web with its ReplicaSet and
// four pods, and is brought what a test likes.
type watched struct {
	*Follower
	writes int // so far, for resource versions
	set    *appsv1.ReplicaSet
	pods   []*corev1.Pod
	events []trace.Event
}

func newWatched() *watched {
	w := &watched{}
	w.Follower = newFollower(&Cluster{clock: &serverClock{now: time.Now}}, FollowOptions{
		Workloads: []trace.Ref{web}, Version: rollout.LatestVersion, Trace: func(e trace.Event) { w.events = append(w.events, e) },
	})
	objects := livetest.Rollout{Namespace: "team", Name: "web", Pods: 4, Created: time.Unix(1000, 0)}.Objects()
	for _, obj := range objects {
		w.bring(engine.Added, obj.(Object), true)
	}
	w.set = objects[1].(*appsv1.ReplicaSet)
	for _, obj := range objects[2:] {
		w.pods = append(w.pods, obj.(*corev1.Pod))
	}
	return w
}

func (w *watched) bring(verb engine.Verb, obj Object, initial bool) {
	if !initial {
		w.writes++
		obj.SetResourceVersion(strconv.Itoa(1000 + w.writes))
	}
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	w.take(arrival{verb: verb, obj: obj, initial: initial, at: time.Now()})
}

// leave lets a pod be asked to go.
func (w *watched) leave(i int, change func(*corev1.Pod)) {
	pod, now := w.pods[i].DeepCopy(), metav1.Now()
	pod.DeletionTimestamp = &now
	change(pod)
	w.bring(engine.Modified, pod, false)
}

func as(*corev1.Pod) {}

func disruption(reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "because"})
	}
}

func (w *watched) say(i int, reason, message string) {
	w.bring(engine.Added, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: reason},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "team", Name: w.pods[i].Name, UID: w.pods[i].UID}, Reason: reason, Message: message}, false)
}

// Who asked a pod to go is read from whatever tells it.
func TestWhoDeletesPods(t *testing.T) {
	sized := func(w *watched, n int32) {
		rs := w.set.DeepCopy()
		rs.Generation, rs.Spec.Replicas = 2, &n
		w.bring(engine.Modified, rs, false)
	}
	for name, c := range map[string]struct {
		do  func(*watched)
		who string
		why string
	}{
		"nothing tells":          {func(w *watched) { w.leave(0, as) }, "someone", ""},
		"the set has too many":   {func(w *watched) { sized(w, 3); w.leave(0, as) }, "replicaset", "Ranked"},
		"preempted":              {func(w *watched) { w.leave(0, disruption("PreemptionByScheduler")) }, "scheduler", "Evicted"},
		"evicted by a taint":     {func(w *watched) { w.leave(0, disruption("DeletionByTaintManager")) }, "tainteviction", "Evicted"},
		"by the eviction API":    {func(w *watched) { w.leave(0, disruption("EvictionByEvictionAPI")) }, "eviction", "Evicted"},
		"its node is gone":       {func(w *watched) { w.leave(0, disruption("DeletionByPodGC")) }, "podgc", "Evicted"},
		"by the kubelet":         {func(w *watched) { w.leave(0, disruption("TerminationByKubelet")) }, "kubelet", "Evicted"},
		"thrown out, not spared": {func(w *watched) { sized(w, 3); w.leave(0, disruption("EvictionByEvictionAPI")) }, "eviction", "Evicted"},
		"a reason of its own": {func(w *watched) {
			w.leave(0, func(pod *corev1.Pod) {
				disruption("Consolidation")(pod)
				pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
					{Manager: "karpenter", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"DisruptionTarget\"}":{}}}}`)}}
			})
		}, "karpenter", "Evicted"},
		"an Event of taints": {func(w *watched) {
			w.say(0, "TaintManagerEviction", "Marking for deletion Pod team/web-6d-0000")
			w.leave(0, as)
		}, "tainteviction", "Evicted"},
		"taken back": {func(w *watched) {
			w.say(0, "TaintManagerEviction", "Marking for deletion Pod team/web-6d-0000")
			w.say(0, "TaintManagerEviction", "Cancelling deletion of Pod team/web-6d-0000")
			w.leave(0, as)
		}, "someone", ""},
		"an Event of preemption": {func(w *watched) { w.say(0, "Preempted", "Preempted by pod x"); w.leave(0, as) }, "scheduler", "Evicted"},
		"the set is gone":        {func(w *watched) { w.bring(engine.Deleted, w.set.DeepCopy(), false); w.leave(0, as) }, "garbagecollector", "Owner gone"},
		"the set goes with all": {func(w *watched) {
			rs, now := w.set.DeepCopy(), metav1.Now()
			rs.DeletionTimestamp = &now
			w.bring(engine.Modified, rs, false)
			w.leave(0, as)
		}, "garbagecollector", "Owner gone"},
		"it had ended": {func(w *watched) {
			pod := w.pods[0].DeepCopy()
			pod.Status.Phase = corev1.PodFailed
			disruption("TerminationByKubelet")(pod)
			w.bring(engine.Modified, pod, false)
			w.bring(engine.Deleted, pod.DeepCopy(), false)
		}, "someone", ""},
	} {
		w := newWatched()
		c.do(w)
		who, why := "", ""
		for _, e := range w.events {
			if d, ok := e.Detail.(trace.Deleted); ok && e.Object.Kind == "Pod" {
				who, why = e.Actor, d.Reason
			}
		}
		if who != c.who || why != c.why {
			t.Errorf("%s: %q (%s), want %q (%s)", name, who, why, c.who, c.why)
		}
	}
}

// What comes of the same name is another object: not the user's own, and not
// behind the user's change.
func TestMadeAnew(t *testing.T) {
	w := newWatched()
	old := w.deps[web]
	w.mine[old.UID] = 5
	w.bring(engine.Deleted, old.DeepCopy(), false)
	if !w.Gone(web) {
		t.Error("it is not told as gone")
	}
	anew := old.DeepCopy()
	anew.UID, anew.Generation = "anew", 1
	w.bring(engine.Added, anew, false)
	if w.Gone(web) || w.Lags(anew) {
		t.Error("the second is taken for the first")
	}
	last := w.events[len(w.events)-1]
	for _, e := range w.events {
		if d, ok := e.Detail.(trace.Changed); ok {
			last = e
			if d.Verb != "create" || e.Actor == trace.ActorYou {
				t.Errorf("%s by %s", d.Verb, e.Actor)
			}
		}
	}
	if _, ok := last.Detail.(trace.Changed); !ok {
		t.Error("its creation is not told")
	}
}
