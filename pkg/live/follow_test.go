package live

import (
	"fmt"
	"strings"
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

// rolledOut is a Deployment of ten pods with its ReplicaSet.
func rolledOut() (*appsv1.Deployment, *appsv1.ReplicaSet) {
	objects := livetest.Rollout{Namespace: "team", Name: "web", Pods: 10, Created: time.Unix(1000, 0)}.Objects()
	return objects[0].(*appsv1.Deployment), objects[1].(*appsv1.ReplicaSet)
}

// A step is explained by the arithmetic that gives it, in the words of a plan;
// one that nothing gives is told with the size that our logic gives.
func TestExplanation(t *testing.T) {
	d, old := rolledOut()
	d.Spec.Template.Spec.Containers[0].Image = "app:2"
	made := outlook{d, []*appsv1.ReplicaSet{old}}
	made3 := made.choices(rollout.LatestVersion)[0]
	next := old.DeepCopy()
	next.Name, next.UID, next.Spec.Template = made3.set, "new", *d.Spec.Template.DeepCopy()
	three := int32(3)
	next.Spec.Replicas, next.Status = &three, appsv1.ReplicaSetStatus{}
	next.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": "10", "deployment.kubernetes.io/max-replicas": "13"}
	begun := outlook{d, []*appsv1.ReplicaSet{old, next}}
	for _, c := range []struct {
		name    string
		moments []outlook
		set     string
		to      int32
		rules   string
		ok      bool
	}{
		{"room for three new pods", []outlook{made}, made3.set, 3, "Room=3", true},
		{"two old pods to spare", []outlook{made, begun}, "web-6d", 8, "Surplus=2 Available=2", true},
		{"seen a moment ago", []outlook{made, begun}, made3.set, 3, "Room=3", true},
		{"too many", []outlook{made, begun}, "web-6d", 5, "Unexplained=5", false},
		{"nothing is known", nil, "web-6d", 5, "Unexplained=5", false},
	} {
		budgets, ok := explanation(c.moments, rollout.LatestVersion, c.set, c.to)
		var rules []string
		for _, b := range budgets {
			rules = append(rules, fmt.Sprintf("%s=%d", b.Rule, b.Result))
		}
		if got := strings.Join(rules, " "); got != c.rules || ok != c.ok {
			t.Errorf("%s: %s, %t; want %s, %t", c.name, got, ok, c.rules, c.ok)
		}
	}
	if budgets, _ := explanation([]outlook{begun}, rollout.LatestVersion, "web-6d", 5); len(budgets[0].Terms) != 1 || budgets[0].Terms[0] != (trace.Term{Name: "expected", Value: 8}) {
		t.Errorf("instead of 5, our logic gives %v, want 8", budgets[0].Terms)
	}
}

func signed(obj Object, entries ...string) Object {
	out := obj.DeepCopyObject().(Object)
	var list []metav1.ManagedFieldsEntry
	for i, e := range entries {
		manager, subresource, _ := strings.Cut(e, "/")
		at := metav1.NewTime(time.Unix(int64(2000+i), 0))
		list = append(list, metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Operation: "Update", Time: &at})
	}
	out.SetManagedFields(list)
	return out
}

func TestWriters(t *testing.T) {
	d, rs := rolledOut()
	before := signed(d, "kubectl-create", "kube-controller-manager/status")
	for _, c := range []struct {
		name string
		got  string
		want string
	}{
		{"a person's tool", handOf(signed(d, "kubectl-create", "kube-controller-manager/status", "kubectl-set"), before), "kubectl-set"},
		{"the autoscaler", handOf(signed(d, "kubectl-create", "kube-controller-manager/status", "kube-controller-manager/scale"), before), "hpa"},
		{"nobody signs", handOf(d, nil), "someone"},
		{"the controller", controllerOf(signed(rs, "kube-controller-manager"), nil, "deployment"), "deployment"},
		{"our engine", controllerOf(signed(rs, "kubectl-rollout_sim.exe"), nil, "deployment"), "deployment"},
		{"somebody sizes a ReplicaSet", controllerOf(signed(rs, "kubectl-scale"), nil, "deployment"), "kubectl-scale"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// Of several that wrote between two versions, it is told who sized it.
func TestSizer(t *testing.T) {
	_, rs := rolledOut()
	before := signed(rs, "kube-controller-manager")
	owning := func(obj Object, fields ...string) Object {
		entries := obj.GetManagedFields()
		for i := range fields {
			entries[i].FieldsV1 = metav1.NewFieldsV1(fields[i])
		}
		obj.SetManagedFields(entries)
		return obj
	}
	const size, note = `{"f:metadata":{"f:annotations":{}},"f:spec":{"f:replicas":{}}}`, `{"f:metadata":{"f:annotations":{"f:x":{}}}}`
	for _, c := range []struct {
		name string
		now  Object
		want string
	}{
		{"a note after the step", owning(signed(rs, "kube-controller-manager", "kubectl-annotate"), size, note), "deployment"},
		{"a step after the note", owning(signed(rs, "kubectl-annotate", "kube-controller-manager"), note, size), "deployment"},
		{"another hand", owning(signed(rs, "kube-controller-manager", "kubectl-scale/scale"), note, size), "kubectl-scale"},
		{"no record of fields", signed(rs, "kube-controller-manager", "kubectl-annotate"), "kubectl-annotate"},
		{"a record that cannot be read", owning(signed(rs, "kube-controller-manager", "kubectl-annotate"), "{", "[]"), "kubectl-annotate"},
	} {
		if got := sizerOf(c.now, before); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTroubles(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *Snapshot {
		objects := livetest.Rollout{Namespace: "team", Name: "web", Pods: 1, Created: time.Unix(1000, 0)}.Objects()
		p := objects[2].(*corev1.Pod)
		p.Status.Conditions, p.Status.ContainerStatuses[0].Ready = nil, false
		change(p)
		return &Snapshot{Deployments: []*appsv1.Deployment{objects[0].(*appsv1.Deployment)}, ReplicaSets: []*appsv1.ReplicaSet{objects[1].(*appsv1.ReplicaSet)}, Pods: []*corev1.Pod{p}}
	}
	waits := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
		}
	}
	refused := func(message string) *Snapshot {
		s := pod(func(*corev1.Pod) {})
		s.ReplicaSets[0].Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: message}}
		return s
	}
	for name, c := range map[string]struct {
		in      *Snapshot
		kind    string
		lasting bool
	}{
		"starting":                {pod(func(*corev1.Pod) {}), "", false},
		"creating":                {pod(waits("ContainerCreating", "")), "", false},
		"an image not there":      {pod(waits("ImagePullBackOff", `Back-off pulling image "a": rpc error: code = NotFound desc = a: not found`)), TroubleImage, true},
		"a registry that is slow": {pod(waits("ErrImagePull", "dial tcp: i/o timeout")), TroubleImage, false},
		"no name of an image":     {pod(waits("InvalidImageName", "couldn't parse")), TroubleImage, true},
		"ended twice":             {pod(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 2 }), "", false},
		"ended three times":       {pod(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 3 }), TroubleCrashLoop, true},
		"no node": {pod(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}
		}), TroubleUnschedulable, false},
		"a quota":   {refused(`pods "web-1" is forbidden: exceeded quota: team`), TroubleQuota, false},
		"a webhook": {refused(`admission webhook "x" denied the request: no`), TroubleRefused, false},
	} {
		got := Trouble{}
		if found := c.in.Troubles(trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}, 3); len(found) > 0 {
			got = found[0]
		}
		if got.Type != c.kind || got.Lasting != c.lasting {
			t.Errorf("%s: %q, lasting %t; want %q, %t", name, got.Type, got.Lasting, c.kind, c.lasting)
		}
	}
}

// Of a Deployment that is found in the midst of a rollout the trace says at
// once which ReplicaSet has its template.
func TestFoundInTheMidst(t *testing.T) {
	d, old := rolledOut()
	d.Spec.Template.Spec.Containers[0].Image = "app:2"
	fresh := old.DeepCopy()
	fresh.Name, fresh.UID, fresh.Spec.Template = "web-7e", "new", *d.Spec.Template.DeepCopy()
	var newSet string
	f := newFollower(&Cluster{clock: &serverClock{now: time.Now}}, FollowOptions{
		Workloads: []trace.Ref{{Kind: "Deployment", Namespace: "team", Name: "web"}}, Version: rollout.LatestVersion,
		Trace: func(e trace.Event) {
			if spec, ok := e.Detail.(trace.Specified); ok {
				newSet = spec.NewSet
			}
		},
	})
	for _, obj := range []Object{fresh, old, d} {
		f.inbox.put("all", arrival{obj: obj, initial: true, at: time.Now()})
	}
	f.deliver(true)
	if newSet != "web-7e" {
		t.Errorf("the new ReplicaSet is %q, want web-7e", newSet)
	}
}

// After a gap a size may be several steps in one: that is no other hand's work.
func TestStepAfterGap(t *testing.T) {
	d, old := rolledOut()
	for _, blurred := range []bool{false, true} {
		var told []trace.Rule
		f := newFollower(&Cluster{clock: &serverClock{now: time.Now}}, FollowOptions{Version: rollout.LatestVersion, Trace: func(e trace.Event) {
			if b, ok := e.Detail.(trace.Budgeted); ok {
				told = append(told, b.Rule)
			}
		}})
		owner := trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
		f.moments[owner] = []outlook{{d, []*appsv1.ReplicaSet{old}}}
		five, sized := int32(5), old.DeepCopy()
		sized.Spec.Replicas = &five
		f.journal.mu.Lock()
		_, rule := f.explain(sized, owner, blurred)
		f.journal.mu.Unlock()
		if (rule == trace.Unexplained) == blurred || (len(told) > 0) == blurred {
			t.Errorf("after a gap %t: rule %q, told %v", blurred, rule, told)
		}
	}
}

// Pods that are brought before their ReplicaSet are not lost.
func TestEarlyPods(t *testing.T) {
	objects := livetest.Rollout{Namespace: "team", Name: "web", Pods: 2, Created: time.Unix(1000, 0)}.Objects()
	var made int
	f := newFollower(&Cluster{clock: &serverClock{now: time.Now}}, FollowOptions{
		Workloads: []trace.Ref{{Kind: "Deployment", Namespace: "team", Name: "web"}}, Version: rollout.LatestVersion,
		Trace: func(e trace.Event) {
			if e.Detail.Type() == (trace.Created{}).Type() {
				made++
			}
		},
	})
	for _, obj := range []int{3, 2, 0, 1} { // the ReplicaSet comes last
		f.inbox.put("all", arrival{verb: engine.Added, obj: objects[obj].(Object), at: time.Now()})
		f.deliver(true)
	}
	if n := len(f.Snapshot().Pods); n != 2 || made != 2 || len(f.early) != 0 {
		t.Errorf("%d pods are known and %d told of, %d wait: want 2, 2 and none", n, made, len(f.early))
	}
}
