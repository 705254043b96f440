package validate

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// updatable are the fields that the server names when another one was changed.
var updatable = strings.Join([]string{
	"`spec.containers[*].image`",
	"`spec.initContainers[*].image`",
	"`spec.activeDeadlineSeconds`",
	"`spec.tolerations` (only additions to existing tolerations)",
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
}, ",")

// PodUpdate checks a Pod that is to replace another in the main resource. A
// deletion cost that was already wrong may stay. The node selector and affinity
// of a gated pod, which may be narrowed, count as fixed. Source: ValidatePodUpdate.
func PodUpdate(new, old *corev1.Pod) field.ErrorList {
	keep := leniency{deletionCost: len(deletionCost(old.Annotations, metadata)) > 0}
	checker := &podChecker{spec: &new.Spec, meta: &new.ObjectMeta, keep: keep}
	errs := join(
		ObjectMetaUpdate(&new.ObjectMeta, &old.ObjectMeta),
		podAnnotations(new.Annotations, checker, metadata.Child("annotations")),
	)
	if equality.Semantic.DeepEqual(new.Spec, old.Spec) {
		return errs
	}
	return join(errs, checker.check(specPath), podSpecUpdate(&new.Spec, &old.Spec))
}

// podSpecUpdate lets a spec change where pods can follow.
func podSpecUpdate(new, old *corev1.PodSpec) field.ErrorList {
	for _, list := range []struct {
		name     string
		new, old []corev1.Container
	}{{"containers", new.Containers, old.Containers}, {"initContainers", new.InitContainers, old.InitContainers}} {
		if len(list.new) != len(list.old) {
			return field.ErrorList{field.Forbidden(specPath.Child(list.name), "pod updates may not add or remove containers")}
		}
	}
	errs, stop := deadlineUpdate(new.ActiveDeadlineSeconds, old.ActiveDeadlineSeconds)
	if stop {
		return errs
	}
	errs = join(errs,
		tolerationsAdded(new.Tolerations, old.Tolerations),
		gatesTaken(new.SchedulingGates, old.SchedulingGates),
	)
	if rest := withUpdatable(new, old); !equality.Semantic.DeepEqual(rest, old) {
		errs = append(errs, field.Forbidden(specPath,
			fmt.Sprintf("pod updates may not change fields other than %s\n%s", updatable, diff.Diff(*old, *rest))))
	}
	return errs
}

// deadlineUpdate lets a deadline appear and shrink. After some errors the
// server looks no further.
func deadlineUpdate(new, old *int64) (errs field.ErrorList, stop bool) {
	path := specPath.Child("activeDeadlineSeconds")
	switch {
	case new == nil && old == nil:
	case new == nil:
		return field.ErrorList{field.Invalid(path, new, "must not update from a positive integer to nil value")}, false
	case *new < 0 || *new > math.MaxInt32:
		return field.ErrorList{field.Invalid(path, *new, validation.InclusiveRangeError(0, math.MaxInt32))}, true
	case old != nil && *old < *new:
		return field.ErrorList{field.Invalid(path, *new, "must be less than or equal to previous value")}, true
	}
	return nil, false
}

func tolerationsAdded(new, old []corev1.Toleration) field.ErrorList {
	for _, was := range old {
		found := false
		for _, is := range new {
			was.TolerationSeconds = is.TolerationSeconds
			found = found || was == is
		}
		if !found {
			return field.ErrorList{field.Forbidden(specPath.Child("tolerations"),
				"existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

func gatesTaken(new, old []corev1.PodSchedulingGate) field.ErrorList {
	known := map[string]bool{}
	for _, gate := range old {
		known[gate.Name] = true
	}
	var errs field.ErrorList
	for i, gate := range new {
		if !known[gate.Name] {
			errs = append(errs, field.Forbidden(specPath.Child("schedulingGates").Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	return errs
}

// withUpdatable is the new spec with the old one's values where changes are
// allowed; lists of containers are of equal length.
func withUpdatable(new, old *corev1.PodSpec) *corev1.PodSpec {
	out := new.DeepCopy()
	for i := range out.Containers {
		out.Containers[i].Image = old.Containers[i].Image
	}
	for i := range out.InitContainers {
		out.InitContainers[i].Image = old.InitContainers[i].Image
	}
	out.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	out.SchedulingGates, out.Tolerations = old.SchedulingGates, old.Tolerations
	if was, is := old.TerminationGracePeriodSeconds, out.TerminationGracePeriodSeconds; was != nil && *was < 0 && is != nil && *is == 1 {
		out.TerminationGracePeriodSeconds = was
	}
	return out
}
