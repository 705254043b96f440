package garbagecollector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// node is one object as far as the collector's watches have shown it and it
// matters: the objects themselves, of which there are many, are not kept.
type node struct {
	resource, namespace, name string
	uid                       types.UID
	owners                    []metav1.OwnerReference
	dependents                family
	deleted                   bool // asked to go
	// clearing objects are being deleted in the foreground: dependents go first.
	clearing bool
}

// family is the dependents of an owner in the order in which they came.
type family struct {
	members map[*node]uint64
	joined  uint64
}

func (f *family) add(n *node) {
	if f.members == nil {
		f.members = map[*node]uint64{}
	}
	if _, ok := f.members[n]; !ok {
		f.joined++
		f.members[n] = f.joined
	}
}

func (f *family) list() []*node {
	out := make([]*node, 0, len(f.members))
	for n := range f.members {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *node) int { return int(int64(f.members[a]) - int64(f.members[b])) })
	return out
}

// graph is who owns whom, by UID. An owner may be known by its dependents only.
type graph struct {
	nodes   map[types.UID]*node
	waiting map[types.UID]*family // dependents of owners that have not been seen
}

func newGraph() *graph {
	return &graph{nodes: map[types.UID]*node{}, waiting: map[types.UID]*family{}}
}

func (g *graph) familyOf(owner types.UID) *family {
	if n, ok := g.nodes[owner]; ok {
		return &n.dependents
	}
	f, ok := g.waiting[owner]
	if !ok {
		f = &family{}
		g.waiting[owner] = f
	}
	return f
}

// set takes in an object and returns its node and the owner references that it lost.
func (g *graph) set(resource string, obj sim.Object) (n *node, isNew bool, lost []metav1.OwnerReference) {
	uid := obj.GetUID()
	n, ok := g.nodes[uid]
	if !ok {
		n = &node{resource: resource, namespace: obj.GetNamespace(), name: obj.GetName(), uid: uid, owners: obj.GetOwnerReferences()}
		if f := g.waiting[uid]; f != nil {
			n.dependents = *f
			delete(g.waiting, uid)
		}
		g.nodes[uid] = n
	}
	was, is := n.owners, obj.GetOwnerReferences()
	n.owners, n.deleted = is, obj.GetDeletionTimestamp() != nil
	if ok && sameList(was, is) {
		return n, false, nil
	}
	lost = missing(was, is)
	for _, ref := range lost {
		delete(g.familyOf(ref.UID).members, n)
	}
	for _, ref := range is {
		g.familyOf(ref.UID).add(n)
	}
	return n, !ok, lost
}

// drop forgets an object and returns its dependents.
func (g *graph) drop(uid types.UID) []*node {
	n, ok := g.nodes[uid]
	if !ok {
		return nil
	}
	delete(g.nodes, uid)
	for _, ref := range n.owners {
		delete(g.familyOf(ref.UID).members, n)
	}
	if len(n.dependents.members) > 0 {
		g.waiting[uid] = &n.dependents
	}
	return n.dependents.list()
}

// sameList says that two versions of an object share their list of owners.
func sameList(a, b []metav1.OwnerReference) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// missing are the references whose owners are in was but not in is.
func missing(was, is []metav1.OwnerReference) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for _, ref := range was {
		if !slices.ContainsFunc(is, func(o metav1.OwnerReference) bool { return o.UID == ref.UID }) {
			out = append(out, ref)
		}
	}
	return out
}

// blocking are the dependents that an owner waits for in the foreground.
func (g *graph) blocking(owner *node) []*node {
	var out []*node
	for _, dep := range owner.dependents.list() {
		for _, ref := range dep.owners {
			if ref.UID == owner.uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				out = append(out, dep)
				break
			}
		}
	}
	return out
}
