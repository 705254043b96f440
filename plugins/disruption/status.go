package disruption

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/component-helpers/apps/poddisruptionbudget"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// deletionTimeout is how long an evicted pod may take to be deleted before it
// counts again (disruption.go DeletionTimeout).
const deletionTimeout = 2 * time.Minute

// count publishes how many pods are healthy and how many may go (trySync).
func (p *Plugin) count(pdb *policyv1.PodDisruptionBudget, b *budget) error {
	if b.err != nil {
		p.h.Event(pdb, corev1.EventTypeWarning, "NoPods", fmt.Sprintf("Failed to get pods: %v", b.err))
		return b.err
	}
	if len(b.pods) == 0 {
		p.h.Event(pdb, corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	expected, desired, err := p.expected(pdb, b)
	if err != nil {
		p.h.Event(pdb, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed", fmt.Sprintf("Failed to calculate the number of expected pods: %v", err))
		return err
	}
	status := policyv1.PodDisruptionBudgetStatus{
		ExpectedPods: expected, DesiredHealthy: desired, CurrentHealthy: b.healthy, DisruptedPods: p.disrupted(pdb, b),
		ObservedGeneration: pdb.Generation, Conditions: pdb.Status.Conditions,
	}
	for name := range status.DisruptedPods {
		if b.pods[name].healthy { // it will be gone soon
			status.CurrentHealthy--
		}
	}
	// A budget that expects no pods allows nothing, lest its first pods go unprotected.
	if status.CurrentHealthy > desired && expected > 0 {
		status.DisruptionsAllowed = status.CurrentHealthy - desired
	}
	return p.publish(pdb, status)
}

// expected is how many pods there should be, and how many of them must stay
// healthy (getExpectedPodCount).
func (p *Plugin) expected(pdb *policyv1.PodDisruptionBudget, b *budget) (expected, desired int32, err error) {
	most, least := pdb.Spec.MaxUnavailable, pdb.Spec.MinAvailable
	if most == nil && least == nil {
		return 0, 0, nil
	}
	if most == nil && least.Type == intstr.Int {
		return int32(len(b.pods)), least.IntVal, nil
	}
	if expected, err = p.scaleOf(pdb, b); err != nil {
		return 0, 0, err
	}
	share := least
	if most != nil {
		share = most
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(share, int(expected), true)
	if err != nil {
		return 0, 0, err
	}
	if most != nil {
		return expected, max(expected-int32(n), 0), nil
	}
	return expected, int32(n), nil
}

// scaleOf adds up the sizes of all that control the pods (getExpectedScale).
func (p *Plugin) scaleOf(pdb *policyv1.PodDisruptionBudget, b *budget) (sum int32, err error) {
	seen := map[types.UID]bool{}
	for _, o := range b.owners {
		if o.pods == 0 {
			continue
		}
		uid, size, ok := p.controller(o, pdb.Namespace)
		if !ok {
			return 0, fmt.Errorf("found no controllers for pod %q", b.first(o))
		}
		if !seen[uid] {
			seen[uid] = true
			sum += size
		}
	}
	if b.unmanaged > 0 {
		p.h.Event(pdb, corev1.EventTypeWarning, "UnmanagedPods", fmt.Sprintf("Pods selected by this PodDisruptionBudget (selector: %v) were found "+
			"to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", pdb.Spec.Selector))
	}
	return sum, nil
}

// controller is the size of a pod's ReplicaSet, or of that one's Deployment
// (getPodDeployment, getPodReplicaSet). Controllers of kinds that the world has
// not are taken to have all their pods.
func (p *Plugin) controller(o *owner, namespace string) (types.UID, int32, bool) {
	if o.ref.Kind != "ReplicaSet" {
		return o.ref.UID, o.pods, true
	}
	obj, _ := p.h.Cached().Get(sim.ReplicaSets, namespace, o.ref.Name)
	rs, ok := obj.(*appsv1.ReplicaSet)
	if !ok || rs.UID != o.ref.UID {
		return "", 0, false
	}
	up := metav1.GetControllerOfNoCopy(rs)
	if up == nil || up.Kind != "Deployment" {
		return rs.UID, *rs.Spec.Replicas, true
	}
	obj, _ = p.h.Cached().Get(sim.Deployments, namespace, up.Name)
	d, ok := obj.(*appsv1.Deployment)
	if !ok || d.UID != up.UID {
		return "", 0, false
	}
	return d.UID, *d.Spec.Replicas, true
}

// disrupted are the pods whose eviction was granted and that are not deleted
// yet (buildDisruptedPodMap).
func (p *Plugin) disrupted(pdb *policyv1.PodDisruptionBudget, b *budget) map[string]metav1.Time {
	now, again := p.h.Now(), time.Duration(0)
	out := map[string]metav1.Time{}
	for _, name := range slices.Sorted(maps.Keys(pdb.Status.DisruptedPods)) {
		at := pdb.Status.DisruptedPods[name]
		if m, ok := b.pods[name]; !ok || m.leaving {
			continue
		}
		left := at.Add(deletionTimeout).Sub(now)
		if left < 0 {
			p.notDeleted(pdb, name)
			continue
		}
		out[name] = at
		if again == 0 || left < again {
			again = max(left, 1)
		}
	}
	if again > 0 {
		key := keyOf(pdb)
		p.h.Stop(p.recheck[key])
		p.recheck[key] = p.h.AfterIdle(again, func() { p.add(key) })
	}
	return out
}

// notDeleted tells of an eviction that led to nothing. That the text names the
// namespace twice is upstream's slip.
func (p *Plugin) notDeleted(pdb *policyv1.PodDisruptionBudget, name string) {
	if pod, ok := p.h.Cached().Get(sim.Pods, pdb.Namespace, name); ok {
		p.h.Event(pod, corev1.EventTypeWarning, "NotDeleted",
			fmt.Sprintf("Pod was expected by PDB %s/%s to be deleted but it wasn't", pdb.Namespace, pdb.Namespace))
	}
}

// publish writes a status that differs from the stored one (updatePdbStatus).
func (p *Plugin) publish(pdb *policyv1.PodDisruptionBudget, status policyv1.PodDisruptionBudgetStatus) error {
	was := pdb.Status
	if was.CurrentHealthy == status.CurrentHealthy && was.DesiredHealthy == status.DesiredHealthy && was.ExpectedPods == status.ExpectedPods &&
		was.DisruptionsAllowed == status.DisruptionsAllowed && maps.EqualFunc(was.DisruptedPods, status.DisruptedPods, func(a, b metav1.Time) bool { return a.Equal(&b) }) &&
		was.ObservedGeneration == pdb.Generation && poddisruptionbudget.ConditionsAreUpToDate(pdb) {
		return nil
	}
	out := *pdb
	out.Status = status
	sim.SetDisruptionAllowed(&out, p.h.Now())
	_, err := p.h.UpdateStatus(&out)
	return err
}

// close lets nobody go while the pods cannot be counted (failSafe).
func (p *Plugin) close(pdb *policyv1.PodDisruptionBudget, why error) error {
	out := *pdb
	out.Status.DisruptionsAllowed = 0
	out.Status.Conditions = slices.Clone(pdb.Status.Conditions)
	at := metav1.NewTime(p.h.Now().Truncate(time.Second))
	apimeta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
		Message: why.Error(), ObservedGeneration: out.Status.ObservedGeneration, LastTransitionTime: at,
	})
	_, err := p.h.UpdateStatus(&out)
	return err
}
