package timeline

import (
	"fmt"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// nodes are what happens to nodes of a script's run.
type nodes struct{ *eventscript.Script }

func (n nodes) at(ms int) nodes {
	n.At(ms)
	return n
}

func (n nodes) beat(node, state string) {
	n.Do(trace.ActorKubelet, trace.Ref{Kind: "Node", Name: node}, trace.Heartbeat{State: state})
}

func (n nodes) ready(node, status string) {
	n.Do("nodelifecycle", trace.Ref{Kind: "Node", Name: node}, trace.ConditionChanged{Condition: "Ready", Status: status})
}

// place binds the pods of the new ReplicaSet to nodes, in turns.
func (n nodes) place(on ...string) {
	for i, pod := range n.Pods("new") {
		n.Do(trace.ActorScheduler, pod, trace.Scheduled{Node: on[i%len(on)]})
	}
}

// Pods on a node that is lost are told as such, whatever else is wrong with
// them, with the nodes' names and what to do.
func TestLostNodes(t *testing.T) {
	const remedy = "bring node-1 back, or delete it (kubectl delete node node-1): its pods are then made anew, on nodes that are ready"
	for name, test := range map[string]struct {
		pods    int32
		happens func(n nodes)
		kind    string
		message string
		remedy  string
	}{
		"silent": {1, func(n nodes) { n.place("node-1"); n.at(10000).beat("node-1", "Stopped") },
			nodeLost, "POD: its node node-1 is lost since 10s", remedy},
		"silent, and then noticed": {3, func(n nodes) {
			n.place("node-1")
			n.at(10000).beat("node-1", "Stopped")
			n.at(50000).ready("node-1", "Unknown")
		}, nodeLost, "3 pods of new: their node node-1 is lost since 10s", remedy},
		"only noticed, as in a real rollout": {1, func(n nodes) { n.place("node-1"); n.at(50000).ready("node-1", "Unknown") },
			nodeLost, "POD: its node node-1 is lost since 50s", remedy},
		"found so": {1, func(n nodes) {
			n.Do(trace.ActorWorld, trace.Ref{Kind: "Node", Name: "node-1"}, trace.ConditionChanged{Condition: "Ready", Status: "Unknown"})
			n.place("node-1")
		}, nodeLost, "POD: its node node-1 is lost since before the start", remedy},
		"found so, and well since": {1, func(n nodes) {
			n.Do(trace.ActorWorld, trace.Ref{Kind: "Node", Name: "node-1"}, trace.ConditionChanged{Condition: "Ready", Status: "Unknown"})
			n.place("node-1")
			n.at(20000).ready("node-1", "True")
		}, "NotStarted", "POD: on its node, but not running", ""},
		"ready, but not for long enough": {1, func(n nodes) {
			n.place("node-1")
			n.Ready("new", 1)
			n.at(5000).beat("node-1", "Stopped")
		}, "MinReadySeconds", "POD: ready, but not yet for minReadySeconds (3600s)", ""},
		"back": {1, func(n nodes) {
			n.place("node-1")
			n.at(10000).beat("node-1", "Stopped")
			n.at(20000).beat("node-1", "Resumed")
		},
			"NotStarted", "POD: on its node, but not running", ""},
		"ready again": {1, func(n nodes) {
			n.place("node-1")
			n.at(50000).ready("node-1", "False")
			n.at(60000).ready("node-1", "True")
		}, "NotStarted", "POD: on its node, but not running", ""},
		"another one": {1, func(n nodes) { n.place("node-1"); n.at(10000).beat("node-2", "Stopped") },
			"NotStarted", "POD: on its node, but not running", ""},
		"several at once": {4, func(n nodes) {
			n.place("node-1", "node-2", "node-10")
			n.At(10000)
			for _, node := range []string{"node-10", "node-2", "node-1", "node-3"} {
				n.beat(node, "Stopped")
			}
		}, nodeLost, "4 pods of new: their nodes node-1, node-2 and node-10 are lost since 10s",
			"bring node-1, node-2 and node-10 back, or delete them (kubectl delete node NAME): their pods are then made anew, on nodes that are ready"},
		"one after the other": {2, func(n nodes) {
			n.place("node-1", "node-2")
			n.at(10000).beat("node-2", "Stopped")
			n.at(20000).beat("node-1", "Stopped")
		}, nodeLost, "2 pods of new: their nodes node-2 and node-1 are lost, the first since 10s",
			"bring node-2 and node-1 back, or delete them (kubectl delete node NAME): their pods are then made anew, on nodes that are ready"},
		"no node takes it": {1, func(n nodes) {
			n.at(10000).beat("node-1", "Stopped")
			n.beat("node-2", "Stopped")
			n.at(60000).Do(trace.ActorScheduler, n.Pods("new")[0], unready("node-1", "node-2"))
		}, "Unschedulable", "POD: " + unready("node-1", "node-2").Message, "needs a node that is ready (node-1 and node-2 are lost since 10s)"},
		"nor would it take another taint": {1, func(n nodes) {
			n.at(10000).beat("node-1", "Stopped")
			n.at(60000).Do(trace.ActorScheduler, n.Pods("new")[0], unready("node-1", "node-2"))
		}, "Unschedulable", "POD: " + unready("node-1", "node-2").Message, "needs a node that is ready (node-1 is lost since 10s), or a toleration for the nodes' taint"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := eventscript.Rolling(4, 4, 4)
			spec.MinReadySeconds = 3600
			s := eventscript.New("web", spec).World("old", 0)
			s.You("update", func(d *trace.Specified) { d.NewSet = "" })
			s.At(5000).Scale("new", test.pods, trace.Room).Create("new", test.pods)
			test.happens(nodes{s})
			pod := s.Pods("new")[0]
			tl, w := only(t, s.At(600000).End("Idle"))
			got := tl.blockers(w)
			want := v1alpha1.Reason{Type: test.kind, Message: test.message, Remedy: test.remedy, Object: pod}
			if test.pods > 1 {
				want.Object = s.Set("new")
			} else {
				want.Message = pod.Name + test.message[len("POD"):]
			}
			if len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
				t.Errorf("\ngot  %+v\nwant %+v", got, want)
			}
		})
	}
}

// unready is a pod that the taints of nodes keep off.
func unready(on ...string) trace.Unschedulable {
	u := trace.Unschedulable{Nodes: map[string]string{}}
	for _, node := range on {
		u.Nodes[node] = "node(s) had untolerated taint(s)"
	}
	u.Message = fmt.Sprintf("0/%d nodes are available: %d node(s) had untolerated taint(s).", len(on), len(on))
	return u
}

func TestManyLostNodesAreCounted(t *testing.T) {
	var lost []Lost
	for i, want := range []string{"a", "a and b", "a, b and c", "a, b, c and d", "a, b, c, d and e", "a, b, c, d and 2 more", "a, b, c, d and 3 more"} {
		lost = append(lost, Lost{Node: string(rune('a' + i))})
		if got := names(lost); got != want {
			t.Errorf("%d: %q, want %q", i+1, got, want)
		}
	}
}

// Recreate waits for pods that cannot end before their node is back.
func TestRecreateWaitsForLostNode(t *testing.T) {
	spec := eventscript.Rolling(1, 0, 1)
	spec.Strategy = "Recreate"
	s := eventscript.New("web", spec).World("old", 1)
	s.You("update", func(d *trace.Specified) { d.NewSet = "" })
	s.Delete("old", 1, nil)
	nodes{s}.beat("node-1", "Stopped")
	tl, w := only(t, s.At(600000).End("Idle"))
	got := tl.blockers(w)
	if len(got) != 1 || got[0].Type != string(trace.OldPodsRunning) || got[0].Remedy != lostRemedy([]Lost{{Node: "node-1"}}) {
		t.Errorf("%+v", got)
	}
}
