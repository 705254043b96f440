package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// nodeLost is the trouble of a pod that stands on a node which is lost.
const nodeLost = "NodeLost"

// Lost is a node that is silent, or that the cluster takes for not ready.
type Lost struct {
	Node  string
	Since time.Duration // negative for before the run
}

// before the run: nobody says when.
const before = -1

// takeNode keeps which nodes are lost, from the last sign of life on where that
// is known, or since before the run, when they are found so.
func (f *fold) takeNode(node string, well, found bool) {
	_, known := f.lost[node]
	switch {
	case well:
		delete(f.lost, node)
	case known:
	case found:
		f.lost[node] = before
	default:
		f.lost[node] = f.now
	}
}

// Lost are the nodes that are lost at the end of the run, the first one first.
func (t *Timeline) Lost() []Lost {
	out := make([]Lost, 0, len(t.lost))
	for node, since := range t.lost {
		out = append(out, Lost{node, since})
	}
	slices.SortStableFunc(out, func(a, b Lost) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(len(a.Node), len(b.Node)), strings.Compare(a.Node, b.Node))
	})
	return out
}

// under are the lost nodes of pods.
func (t *Timeline) under(list []*Pod) []Lost {
	used := map[string]bool{}
	for _, p := range list {
		used[p.Node] = true
	}
	return slices.DeleteFunc(t.Lost(), func(l Lost) bool { return !used[l.Node] })
}

// isLost says that a pod stands on a node that is lost.
func (t *Timeline) isLost(p *Pod) bool {
	_, lost := t.lost[p.Node]
	return lost
}

// mostNamed is how many nodes a reason names.
const mostNamed = 5

// names are node-1, node-2 and 7 more.
func names(lost []Lost) string {
	var all []string
	for _, l := range lost {
		all = append(all, l.Node)
	}
	if n := len(all); n > mostNamed {
		all = append(all[:mostNamed-1], fmt.Sprintf("%d more", n-mostNamed+1))
	}
	if n := len(all); n > 1 {
		all = append(all[:n-2], all[n-2]+" and "+all[n-1])
	}
	return strings.Join(all, ", ")
}

// LostWords say that nodes are lost, as in node-1 and node-2 are lost since 10s;
// there must be one.
func LostWords(lost []Lost) string {
	be, since := "is lost", fmt.Sprintf(" since %gs", seconds(lost[0].Since))
	if lost[0].Since < 0 {
		since = " since before the start"
	}
	if len(lost) > 1 {
		be = "are lost"
	}
	if lost[len(lost)-1].Since != lost[0].Since {
		since = ", the first" + since
	}
	return names(lost) + " " + be + since
}

// reasonOfLost is the reason of pods on lost nodes.
func (t *Timeline) reasonOfLost(g trouble) v1alpha1.Reason {
	lost, first := t.under(g.pods), g.pods[0]
	r := v1alpha1.Reason{Type: nodeLost, Object: first.Object, Remedy: lostRemedy(lost)}
	who, where := first.Object.Name, "its node"
	if n := len(g.pods); n > 1 {
		r.Object = first.Set.Object
		who, where = fmt.Sprintf("%s of %s", pods(int32(n)), first.Set.Object.Name), "their node"
	}
	if len(lost) > 1 {
		where = "their nodes"
	}
	r.Message = fmt.Sprintf("%s: %s %s", who, where, LostWords(lost))
	return r
}

// lostRemedy is what one does about lost nodes.
func lostRemedy(lost []Lost) string {
	them, their, name := "it", "its", lost[0].Node
	if len(lost) > 1 {
		them, their, name = "them", "their", "NAME"
	}
	return fmt.Sprintf("bring %s back, or delete %s (kubectl delete node %s): %s pods are then made anew, on nodes that are ready", names(lost), them, name, their)
}

// tainted are the nodes whose taints keep a pod off: those that are lost, and
// how many others there are. Where no reasons by node are known there are none.
func tainted(u trace.Unschedulable, lost []Lost) (gone []Lost, others int) {
	for _, why := range u.Nodes {
		if untolerated.MatchString(why) {
			others++
		}
	}
	for _, l := range lost {
		if untolerated.MatchString(u.Nodes[l.Node]) {
			gone = append(gone, l)
			others--
		}
	}
	return gone, others
}
