package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// family is the pods of all revisions of one owner whose containers have not
// ended, counted by revision.
type family struct {
	owner   types.UID
	pods    map[types.UID]int
	waiting []*life // those whose profile looks at the others, in order of arrival
}

// join counts a pod into its family. The ReplicaSet's own owner is looked up
// as it is now; without one the ReplicaSet is its own family.
func (k *Plugin) join(l *life, pod *corev1.Pod) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return
	}
	owner := ref.UID
	if obj, ok := k.h.Stored().Get(sim.ReplicaSets, pod.Namespace, ref.Name); ok && obj.GetUID() == ref.UID {
		if up := metav1.GetControllerOfNoCopy(obj); up != nil {
			owner = up.UID
		}
	}
	f := k.owners[owner]
	if f == nil {
		f = &family{owner: owner, pods: map[types.UID]int{}}
		k.owners[owner] = f
	}
	l.family, l.set = f, ref.UID
	f.pods[l.set]++
	if l.profile.Never == WhileOthers {
		f.waiting = append(f.waiting, l)
	}
}

// leave counts a pod out when its containers have ended or its object is gone,
// and lets those ready that waited for it.
func (k *Plugin) leave(l *life) {
	f := l.family
	if f == nil {
		return
	}
	l.family = nil
	if f.pods[l.set]--; f.pods[l.set] == 0 {
		delete(f.pods, l.set)
	}
	if len(f.pods) == 0 {
		delete(k.owners, f.owner)
	}
	still := f.waiting[:0]
	var free []*life
	for _, w := range f.waiting {
		switch {
		case w == l:
		case w.held && !w.others():
			w.held = false
			free = append(free, w)
		default:
			still = append(still, w)
		}
	}
	f.waiting = still
	for _, w := range free {
		w.readyIn(0)
	}
}

// others says whether a pod of another revision of the same owner still runs.
func (l *life) others() bool {
	return l.family != nil && (len(l.family.pods) > 1 || len(l.family.pods) == 1 && l.family.pods[l.set] == 0)
}
