package disruption

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// budget is what the controller knows of one PodDisruptionBudget: the pods that
// its selector covers, counted as they come and go, so that a budget over
// thousands of pods costs no more than another.
type budget struct {
	wants     *metav1.LabelSelector
	selector  labels.Selector
	err       error
	pods      map[string]member
	healthy   int32
	unmanaged int
	// owners are the controllers of the pods in the order in which they were met.
	owners []*owner
}

// member is a pod under a budget.
type member struct {
	healthy bool // ready, and not on its way out
	leaving bool
	owner   *owner // nil when nobody controls it
}

// owner is a controller of pods.
type owner struct {
	ref  metav1.OwnerReference
	pods int32
}

// newBudget takes in the pods that are there.
func newBudget(pdb *policyv1.PodDisruptionBudget, pods []sim.Object) *budget {
	b := &budget{wants: pdb.Spec.Selector, pods: map[string]member{}}
	if b.selector, b.err = metav1.LabelSelectorAsSelector(pdb.Spec.Selector); b.err != nil {
		return b
	}
	for _, obj := range pods {
		if pod, ok := obj.(*corev1.Pod); ok {
			b.take(pod)
		}
	}
	return b
}

// stale says that the budget's selector is another by now.
func (b *budget) stale(pdb *policyv1.PodDisruptionBudget) bool {
	return b.wants != pdb.Spec.Selector && !equality.Semantic.DeepEqual(b.wants, pdb.Spec.Selector)
}

func (b *budget) covers(pod *corev1.Pod) bool {
	return b.err == nil && b.selector.Matches(labels.Set(pod.Labels))
}

// take notes how a pod is now.
func (b *budget) take(pod *corev1.Pod) {
	b.drop(pod.Name)
	if !b.covers(pod) {
		return
	}
	m := member{leaving: pod.DeletionTimestamp != nil, owner: b.ownerOf(pod)}
	m.healthy = !m.leaving && rollout.IsPodReady(pod)
	b.pods[pod.Name] = m
	b.count(m, 1)
}

// drop forgets a pod.
func (b *budget) drop(name string) {
	if m, ok := b.pods[name]; ok {
		delete(b.pods, name)
		b.count(m, -1)
	}
}

func (b *budget) count(m member, by int32) {
	if m.healthy {
		b.healthy += by
	}
	if m.owner == nil {
		b.unmanaged += int(by)
	} else {
		m.owner.pods += by
	}
}

func (b *budget) ownerOf(pod *corev1.Pod) *owner {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil
	}
	for _, o := range b.owners {
		if o.ref.UID == ref.UID {
			return o
		}
	}
	o := &owner{ref: *ref}
	b.owners = append(b.owners, o)
	return o
}

// first is the first by name of an owner's pods.
func (b *budget) first(o *owner) (name string) {
	for n, m := range b.pods {
		if m.owner == o && (name == "" || n < name) {
			name = n
		}
	}
	return name
}
