package sim

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// recall lets the controllers' event filters know what was said before the
// world began: whatever has a controller was once announced by an Event of its
// owner. A ReplicaSet that made 25 pods a minute ago has nothing left to say,
// which spares its controller the calls. What is gone by now told of itself
// too, but left no trace.
func (w *World) recall() {
	children := slices.Concat(w.store.List(ReplicaSets, ""), w.store.List(Pods, ""))
	slices.SortStableFunc(children, func(a, b Object) int {
		return cmp.Compare(a.GetCreationTimestamp().UnixNano(), b.GetCreationTimestamp().UnixNano())
	})
	now := w.loop.now
	for _, child := range children {
		owner, created := metav1.GetControllerOf(child), child.GetCreationTimestamp().Time
		if owner == nil || !created.Before(w.cfg.Start) {
			continue
		}
		w.loop.now = w.loop.of(created)
		for _, r := range w.runners {
			if r.kind == owner.Kind {
				r.recorder.recall(child.GetNamespace(), owner)
			}
		}
	}
	w.loop.now = now
}

// recall counts one Event about an object of the past.
func (r *recorder) recall(namespace string, o *metav1.OwnerReference) {
	r.drops(trace.Ref{Kind: o.Kind, Namespace: namespace, Name: o.Name}, o.UID)
}
