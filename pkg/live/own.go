package live

import (
	"context"
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// chooseSets keeps the ReplicaSets that belong to the plan: those asked for, of
// which the Deployments are read too, those of the Deployments, and orphans
// that a Deployment would adopt.
func (r *reader) chooseSets(ctx context.Context) error {
	if err := r.readOwners(ctx); err != nil {
		return err
	}
	owners := map[types.UID]bool{}
	for _, d := range r.s.Deployments {
		owners[d.UID] = true
	}
	for _, rs := range r.sets {
		owner := metav1.GetControllerOfNoCopy(rs)
		switch {
		case owner != nil && owners[owner.UID], r.asksFor(rs), owner == nil && r.adopts(rs):
			r.s.ReplicaSets = append(r.s.ReplicaSets, rs)
		}
	}
	r.sets = nil
	return r.checkSets()
}

// asksFor reports whether a ReplicaSet is one of the workloads themselves.
func (r *reader) asksFor(rs *appsv1.ReplicaSet) bool {
	if r.Selector != nil {
		return metav1.GetControllerOfNoCopy(rs) == nil && r.Selector.Matches(labels.Set(rs.Labels))
	}
	for _, ref := range r.Workloads {
		if ref.Kind == "ReplicaSet" && ref.Namespace == rs.Namespace && ref.Name == rs.Name {
			return true
		}
	}
	return false
}

func (r *reader) adopts(rs *appsv1.ReplicaSet) bool {
	return slices.ContainsFunc(r.s.Deployments, func(d *appsv1.Deployment) bool {
		return d.Namespace == rs.Namespace && selects(d.Spec.Selector, rs.Labels)
	})
}

// readOwners reads the Deployments of the ReplicaSets that are asked for.
func (r *reader) readOwners(ctx context.Context) error {
	t := newTasks(ctx)
	asked := map[types.UID]bool{}
	for _, d := range r.s.Deployments {
		asked[d.UID] = true
	}
	for _, rs := range r.sets {
		owner := metav1.GetControllerOfNoCopy(rs)
		if owner == nil || owner.Kind != "Deployment" || asked[owner.UID] || !r.asksFor(rs) {
			continue
		}
		asked[owner.UID] = true
		t.run(func(ctx context.Context) error {
			err := r.readDeployment(ctx, rs.Namespace, owner.Name)
			if apierrors.IsNotFound(err) {
				return nil // deleted without its ReplicaSets
			}
			return err
		})
	}
	return t.end()
}

// checkSets is an error for a ReplicaSet that is asked for and not there.
func (r *reader) checkSets() error {
	for _, ref := range r.Workloads {
		if ref.Kind != "ReplicaSet" || r.MayBeMissing || r.s.Find(ref) != nil {
			continue
		}
		if r.s.denied[replicaSets] {
			return apierrors.NewForbidden(appsv1.Resource(replicaSets), ref.Name, errors.New("the user may not list replicasets"))
		}
		return apierrors.NewNotFound(appsv1.Resource(replicaSets), ref.Name)
	}
	return nil
}

func selects(s *metav1.LabelSelector, set map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(set))
}

// ownPods tells the pods of the workloads from those that only take room,
// which go to Others where room is limited.
func (r *reader) ownPods(limited bool) func(*corev1.Pod) *corev1.Pod {
	owners := map[types.UID]bool{}
	for _, rs := range r.s.ReplicaSets {
		owners[rs.UID] = true
	}
	return func(pod *corev1.Pod) *corev1.Pod {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner != nil && owners[owner.UID] || owner == nil && r.adoptsPod(pod) {
			return bare(pod)
		}
		if r.Kin && owner == nil && r.made(pod) {
			kin := *pod // with the record of who wrote its labels
			return &kin
		}
		if other := occupant(pod); other != nil && limited {
			r.mu.Lock()
			r.s.Others = append(r.s.Others, other)
			r.mu.Unlock()
		}
		return nil
	}
}

// made reports whether a pod has its name from one of the ReplicaSets.
func (r *reader) made(pod *corev1.Pod) bool {
	return slices.ContainsFunc(r.s.ReplicaSets, func(rs *appsv1.ReplicaSet) bool {
		return rs.Namespace == pod.Namespace && strings.HasPrefix(pod.Name, rs.Name+"-")
	})
}

func (r *reader) adoptsPod(pod *corev1.Pod) bool {
	return slices.ContainsFunc(r.s.ReplicaSets, func(rs *appsv1.ReplicaSet) bool {
		return rs.Namespace == pod.Namespace && selects(rs.Spec.Selector, pod.Labels)
	})
}

// hasSets reports whether there are ReplicaSets, and so pods, to plan with.
func (r *reader) hasSets(ns string) bool {
	return slices.ContainsFunc(r.s.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return rs.Namespace == ns })
}

// onlySelector is the selector of a namespace's one Deployment: enough to find
// its pods when no others are needed. It is empty where there are several.
func (r *reader) onlySelector(ns string) string {
	only := ""
	for _, d := range r.s.Deployments {
		if d.Namespace != ns {
			continue
		}
		if only != "" {
			return ""
		}
		only = metav1.FormatLabelSelector(d.Spec.Selector)
	}
	for _, rs := range r.s.ReplicaSets {
		if rs.Namespace == ns && metav1.GetControllerOfNoCopy(rs) == nil {
			return ""
		}
	}
	return only
}

// OwnedReplicaSets asks for the ReplicaSets that an object controls.
func OwnedReplicaSets(ctx context.Context, client appsclient.ReplicaSetsGetter, owner Object) ([]*appsv1.ReplicaSet, error) {
	all := client.ReplicaSets(owner.GetNamespace())
	return fetch(ctx, all.List, func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items }, metav1.ListOptions{},
		func(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
			if !metav1.IsControlledBy(rs, owner) {
				return nil
			}
			return rs.DeepCopy()
		})
}
