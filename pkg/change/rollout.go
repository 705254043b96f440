package change

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// RestartedAt is the template annotation of kubectl rollout restart.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// appliedBefore is said when an undo leaves behind the manifest that kubectl apply remembers.
const appliedBefore = "resource %s was previously managed with 'kubectl apply'. " +
	"Rolling back will not update the %s annotation, which may cause unexpected behavior on future 'kubectl apply' operations. " +
	"Consider using 'kubectl apply' with your previous configuration file instead."

// restart is kubectl rollout restart. Its annotation has whole seconds, so a
// second restart within one is refused.
func restart(out *Result, in Input) error {
	d, ok := out.Object.(*appsv1.Deployment)
	if !ok {
		return about(out.Object, "restarting is not supported")
	}
	if d.Spec.Paused {
		return about(d, "can't restart paused deployment (run rollout resume first)")
	}
	at := in.Now.UTC().Format(time.RFC3339)
	if d.Spec.Template.Annotations[RestartedAt] == at {
		return fmt.Errorf("failed to create patch for %s: if restart has already been triggered within the past second, "+
			"please wait before attempting to trigger another", d.Name)
	}
	metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, RestartedAt, at)
	return nil
}

// pause is kubectl rollout pause, resume its reverse.
func pause(out *Result, _ Input) error {
	d, ok := out.Object.(*appsv1.Deployment)
	if !ok {
		return about(out.Object, "pausing is not supported")
	}
	if d.Spec.Paused {
		return about(d, "is already paused")
	}
	d.Spec.Paused = true
	return nil
}

func resume(out *Result, _ Input) error {
	d, ok := out.Object.(*appsv1.Deployment)
	if !ok {
		return about(out.Object, "resuming is not supported")
	}
	if !d.Spec.Paused {
		return about(d, "is not paused")
	}
	d.Spec.Paused = false
	return nil
}

// undo is kubectl rollout undo: template and annotations of an earlier
// ReplicaSet. Going back to what is there already is skipped with a warning.
func (s *Set) undo(out *Result, in Input) error {
	d, ok := out.Object.(*appsv1.Deployment)
	if !ok {
		return errors.New(`no rollbacker has been implemented for "ReplicaSet.apps"`)
	}
	if _, applied := d.Annotations[corev1.LastAppliedConfigAnnotation]; applied {
		out.Warnings = append(out.Warnings, fmt.Sprintf(appliedBefore, "deployments/"+d.Name, corev1.LastAppliedConfigAnnotation))
	}
	target, err := revision(d, in.Owned, *s.Undo)
	if err != nil {
		return err
	}
	if d.Spec.Paused {
		return errors.New("you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again")
	}
	if rollout.EqualIgnoreHash(&target.Spec.Template, &d.Spec.Template) {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("deployment.apps/%s skipped rollback (current template already matches revision %d)", d.Name, *s.Undo))
		return nil
	}
	out.Object = rollout.RolledBack(d, target)
	return nil
}

// revision finds the ReplicaSet to go back to. ReplicaSets whose revision is no
// number do not take part; one without a revision counts as 0.
// Upstream: polymorphichelpers deploymentRevision.
func revision(d *appsv1.Deployment, owned []*appsv1.ReplicaSet, wanted int64) (*appsv1.ReplicaSet, error) {
	if wanted < 0 {
		return nil, fmt.Errorf("unable to find specified revision %d in history", wanted)
	}
	all := rollout.Split(d, owned).All()
	if wanted > 0 {
		if rs := rollout.FindRevision(all, wanted); rs != nil {
			return rs, nil
		}
		return nil, fmt.Errorf("unable to find specified revision %d in history", wanted)
	}
	if rs := secondLatest(all); rs != nil {
		return rs, nil
	}
	return nil, fmt.Errorf("no rollout history found for deployment %q", d.Name)
}

func secondLatest(all []*appsv1.ReplicaSet) (second *appsv1.ReplicaSet) {
	var first *appsv1.ReplicaSet
	best, next := int64(-1), int64(-1)
	for _, rs := range all {
		switch v, err := rollout.Revision(rs); {
		case err != nil:
		case v > best:
			second, next = first, best
			first, best = rs, v
		case v > next:
			second, next = rs, v
		}
	}
	return second
}

// about is kubectl's form of an error that concerns one object.
func about(obj manifest.Object, what string) error {
	resource := "deployments.apps"
	if _, ok := obj.(*appsv1.ReplicaSet); ok {
		resource = "replicasets.apps"
	}
	return fmt.Errorf("%s %q %s", resource, obj.GetName(), what)
}
