package sim

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Evict asks for a pod's eviction: a deletion that the pod's disruption budget
// may refuse with 429. Once granted it is traced as why says.
func (h *Hands) Evict(namespace, name string, opts metav1.DeleteOptions, why trace.Evicted) error {
	return h.actor.direct().evict(namespace, name, opts, why)
}

// maxDisrupted is how many evictions may wait for the disruption controller to
// notice them (registry/core/pod/storage/eviction.go MaxDisruptedPodSize).
const maxDisrupted = 2000

// evict is the eviction subresource (upstream registry/core/pod/storage,
// EvictionREST). The server acts at one moment, so that none of its own
// conflicts come up.
func (r requester) evict(namespace, name string, opts metav1.DeleteOptions, why trace.Evicted) error {
	k := kindByResource[Pods]
	obj, ok := r.server.store.Get(Pods, namespace, name)
	if !ok {
		stub := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		return r.failed(k, "create", "eviction", stub, notFound(k, name))
	}
	return r.failed(k, "create", "eviction", obj, r.server.evict(r, obj.(*corev1.Pod), opts, why))
}

func (s *server) evict(r requester, pod *corev1.Pod, opts metav1.DeleteOptions, why trace.Evicted) error {
	req := &Request{Verb: "create", Resource: Pods, Subresource: "eviction", Actor: r.actor.name, Old: pod, Now: s.world.loop.Now(), World: s.store}
	for _, a := range s.admitters {
		if err := a.Validate(req); err != nil {
			return err
		}
	}
	if !beyondBudgets(pod) {
		if err := s.spend(r, pod); err != nil {
			return err
		}
	}
	if err := preconditions(kindByResource[Pods], pod, opts.Preconditions); err != nil {
		return err
	}
	s.world.under(r.actor.Emit(RefOf(pod), why), func() { s.evicted(r, pod, opts) })
	return nil
}

// beyondBudgets: a pod that does not run yet, or no longer, or is on its way out, may always go.
func beyondBudgets(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// spend takes one disruption from the budget that covers a pod, when the pod counts for it.
func (s *server) spend(r requester, pod *corev1.Pod) error {
	budgets := s.budgetsOf(pod)
	if len(budgets) == 0 {
		return nil
	}
	if len(budgets) > 1 {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	pdb := budgets[0]
	if !rollout.IsPodReady(pod) && sparesUnready(pdb, s.world.cfg.Version) {
		return nil
	}
	if err := refusal(pdb); err != nil {
		return err
	}
	out := *pdb
	out.Status.DisruptionsAllowed--
	if out.Status.DisruptionsAllowed == 0 {
		SetDisruptionAllowed(&out, s.world.loop.Now())
	}
	out.Status.DisruptedPods = maps.Clone(pdb.Status.DisruptedPods)
	if out.Status.DisruptedPods == nil {
		out.Status.DisruptedPods = map[string]metav1.Time{}
	}
	out.Status.DisruptedPods[pod.Name] = s.world.now()
	_, err := r.update(&out, "status")
	return err
}

// SetDisruptionAllowed gives a budget the condition that its count of allowed
// disruptions calls for. Its list of conditions is replaced, not changed
// (component-helpers apps/poddisruptionbudget, which would read a real clock).
func SetDisruptionAllowed(pdb *policyv1.PodDisruptionBudget, now time.Time) {
	c := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason,
		ObservedGeneration: pdb.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	if pdb.Status.DisruptionsAllowed <= 0 {
		c.Status, c.Reason = metav1.ConditionFalse, policyv1.InsufficientPodsReason
	}
	pdb.Status.Conditions = slices.Clone(pdb.Status.Conditions)
	apimeta.SetStatusCondition(&pdb.Status.Conditions, c)
}

// sparesUnready: a pod that is not ready costs its budget nothing.
func sparesUnready(pdb *policyv1.PodDisruptionBudget, v rollout.Version) bool {
	if policy := pdb.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow && v.UnhealthyPodEviction() {
		return true
	}
	return pdb.Status.CurrentHealthy >= pdb.Status.DesiredHealthy && pdb.Status.DesiredHealthy > 0
}

func (s *server) budgetsOf(pod *corev1.Pod) (out []*policyv1.PodDisruptionBudget) {
	for _, obj := range s.store.List(DisruptionBudgs, pod.Namespace) {
		pdb := obj.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, pdb)
		}
	}
	return out
}

const violates = "Cannot evict pod as it would violate the pod's disruption budget."

// refusal is the answer of a budget that allows no disruption; nil when it does
// (EvictionREST.checkAndDecrement).
func refusal(pdb *policyv1.PodDisruptionBudget) error {
	why := func(err *apierrors.StatusError, format string, args ...any) error {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
			metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf("The disruption budget %s ", pdb.Name) + fmt.Sprintf(format, args...)})
		return err
	}
	budget := schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}
	switch status := pdb.Status; {
	case status.ObservedGeneration < pdb.Generation:
		return why(apierrors.NewTooManyRequests(violates, 10), "is still being processed by the server.")
	case status.DisruptionsAllowed < 0:
		return why(apierrors.NewForbidden(budget, pdb.Name, errors.New("pdb disruptions allowed is negative")),
			"does not allow evicting pods currently: pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisrupted:
		return why(apierrors.NewForbidden(budget, pdb.Name, errors.New("DisruptedPods map too big - too many evictions not confirmed by PDB controller")),
			"does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed > 0:
		return nil
	}
	return why(apierrors.NewTooManyRequests(violates, 0), "%s", currently(pdb))
}

// currently says why a budget allows nothing now.
func currently(pdb *policyv1.PodDisruptionBudget) string {
	c := apimeta.FindStatusCondition(pdb.Status.Conditions, policyv1.DisruptionAllowedCondition)
	told := c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	switch {
	case told && c.Reason == policyv1.SyncFailedReason:
		return "does not allow evicting pods currently because it failed sync: " + c.Message
	case pdb.Status.CurrentHealthy <= pdb.Status.DesiredHealthy:
		return fmt.Sprintf("needs %d healthy pods and has %d currently", pdb.Status.DesiredHealthy, pdb.Status.CurrentHealthy)
	case told:
		return fmt.Sprintf("does not allow evicting pods currently (%s): %s", c.Reason, c.Message)
	}
	return "does not allow evicting pods currently"
}

// evicted marks the pod as disrupted and deletes it.
func (s *server) evicted(r requester, pod *corev1.Pod, opts metav1.DeleteOptions) {
	k := kindByResource[Pods]
	marked := *pod
	marked.Status.Conditions = withCondition(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: s.world.now(),
		Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
	})
	obj := Object(&marked)
	if !s.world.cfg.Version.DisruptionConditions() || unchanged(obj, pod) {
		obj = pod
	} else {
		s.commit(r, write{kind: k, verb: "create", subresource: "eviction", code: http.StatusCreated, obj: obj, old: pod})
	}
	s.beginDelete(r, k, obj, opts)
}
