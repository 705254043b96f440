package validate

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// count is a number of pods in a status, with the name of its field.
type count struct {
	name  string
	value int32
}

// deploymentStatus checks the counts of a status. Source: ValidateDeploymentStatus.
func deploymentStatus(new, old *appsv1.DeploymentStatus) field.ErrorList {
	ready, available := count{"readyReplicas", new.ReadyReplicas}, count{"availableReplicas", new.AvailableReplicas}
	updated := count{"updatedReplicas", new.UpdatedReplicas}
	return join(
		nonNegativeGeneration(new.ObservedGeneration),
		nonNegativeCounts(count{"replicas", new.Replicas}, updated, ready, available,
			count{"unavailableReplicas", new.UnavailableReplicas}),
		nonNegativeCounts(count{"terminatingReplicas", valueOrZero(new.TerminatingReplicas)}, count{"collisionCount", valueOrZero(new.CollisionCount)}),
		atMostReplicas(new.Replicas, updated, ready, available),
		availableAtMostReady(available, ready),
		collisionsKept(new.CollisionCount, old.CollisionCount),
	)
}

func collisionsKept(new, old *int32) field.ErrorList {
	if old == nil || new != nil && *new >= *old {
		return nil
	}
	return field.ErrorList{field.Invalid(statusPath.Child("collisionCount"), valueOrZero(new), "cannot be decremented")}
}

func nonNegativeGeneration(observed int64) field.ErrorList {
	if observed >= 0 {
		return nil
	}
	return nonNegative(statusPath.Child("observedGeneration"), observed)
}

// PodStatusUpdate checks the metadata of a pod whose status is written and what
// of the status the server itself cares for. What kubelets say of containers is
// not looked at. Source: ValidatePodStatusUpdate.
func PodStatusUpdate(new, old *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	if !sameMeta(&new.ObjectMeta, &old.ObjectMeta) {
		errs = ObjectMetaUpdate(&new.ObjectMeta, &old.ObjectMeta)
	}
	if is := new.Status.ObservedGeneration; is < 0 {
		errs = append(errs, field.Invalid(statusPath.Child("observedGeneration"), is, "must be a non-negative integer"))
	}
	if is, was := new.Status.QOSClass, old.Status.QOSClass; is != was {
		errs = append(errs, apivalidation.ValidateImmutableField(is, was, statusPath.Child("qosClass"))...)
	}
	return errs
}

// sameMeta spares the long checks for the metadata that most status writes
// carry along: what the client could have changed is as it was.
func sameMeta(a, b *metav1.ObjectMeta) bool {
	return a.UID == b.UID && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		(a.DeletionGracePeriodSeconds == b.DeletionGracePeriodSeconds) &&
		rollout.SameLabels(a.Labels, b.Labels) && rollout.SameLabels(a.Annotations, b.Annotations) &&
		slices.Equal(a.Finalizers, b.Finalizers) && len(a.ManagedFields) == 0
}

// replicaSetStatus checks the counts of a status. Source: ValidateReplicaSetStatus.
func replicaSetStatus(s *appsv1.ReplicaSetStatus) field.ErrorList {
	ready, available := count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas}
	labeled := count{"fullyLabeledReplicas", s.FullyLabeledReplicas}
	return join(
		nonNegativeCounts(count{"replicas", s.Replicas}, labeled, ready, available),
		nonNegativeGeneration(s.ObservedGeneration),
		nonNegativeCounts(count{"terminatingReplicas", valueOrZero(s.TerminatingReplicas)}),
		atMostReplicas(s.Replicas, labeled, ready, available),
		availableAtMostReady(available, ready),
	)
}

// The paths of errors are made only where there is one: a controller writes
// statuses all the time.
func nonNegativeCounts(counts ...count) field.ErrorList {
	var errs field.ErrorList
	for _, c := range counts {
		if c.value >= 0 {
			continue
		}
		errs = append(errs, nonNegative(statusPath.Child(c.name), c.value)...)
	}
	return errs
}

func atMostReplicas(replicas int32, counts ...count) field.ErrorList {
	var errs field.ErrorList
	for _, c := range counts {
		if c.value > replicas {
			errs = append(errs, field.Invalid(statusPath.Child(c.name), c.value, "cannot be greater than status.replicas"))
		}
	}
	return errs
}

func availableAtMostReady(available, ready count) field.ErrorList {
	if available.value <= ready.value {
		return nil
	}
	return field.ErrorList{field.Invalid(statusPath.Child(available.name), available.value, "cannot be greater than readyReplicas")}
}

func valueOrZero(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
