package timeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// deadlineExceeded is the reason of a Progressing condition that gave up.
const deadlineExceeded = "ProgressDeadlineExceeded"

// verdict says how a workload ended.
func (t *Timeline) verdict(w *Workload, totals Totals) v1alpha1.Verdict {
	progressing := w.Conditions["Progressing"]
	switch {
	case w.idle():
		return v1alpha1.NothingToDo
	case totals.CompleteAt >= 0:
		return v1alpha1.Complete
	case w.Spec().Paused:
		return v1alpha1.Paused
	case progressing.Status == "False" && progressing.Reason == deadlineExceeded:
		return v1alpha1.DeadlineExceeded
	case t.Ended == "Limit" || t.Ended == "":
		return v1alpha1.LimitReached
	}
	return v1alpha1.Stuck
}

// idle says that the workload was complete all along and nothing was done to it.
func (w *Workload) idle() bool {
	return !w.touched && !w.Gone && len(w.Points) > 0 &&
		!slices.ContainsFunc(w.Points, func(p Point) bool { return !w.complete(p.Counts) })
}

// reasons say why a verdict is not Complete, in as few entries as explain it.
func (t *Timeline) reasons(w *Workload, verdict v1alpha1.Verdict) []v1alpha1.Reason {
	switch verdict {
	case v1alpha1.Complete:
		return nil
	case v1alpha1.NothingToDo:
		return []v1alpha1.Reason{w.whyNothing()}
	case v1alpha1.Paused:
		return []v1alpha1.Reason{{
			Type: "Paused", Object: w.Object,
			Message: "the Deployment is paused: its template is not rolled out, only spec.replicas is followed",
			Remedy:  "kubectl rollout resume " + command(w.Object),
		}}
	}
	if found := t.blockers(w); len(found) > 0 {
		return found
	}
	return []v1alpha1.Reason{t.lastResort(w, verdict)}
}

// Why is what keeps a workload from being complete at the end of the events.
func (t *Timeline) Why(ref trace.Ref) []v1alpha1.Reason {
	for _, w := range t.Workloads {
		if w.Object == ref {
			return t.blockers(w)
		}
	}
	return nil
}

// command is how kubectl names an object.
func command(ref trace.Ref) string {
	name := strings.ToLower(ref.Kind) + "/" + ref.Name
	if ref.Namespace != "" && ref.Namespace != "default" {
		name += " -n " + ref.Namespace
	}
	return name
}

// lastResort is the reason when no object shows one.
func (t *Timeline) lastResort(w *Workload, verdict v1alpha1.Verdict) v1alpha1.Reason {
	c := w.At(t.End)
	state := fmt.Sprintf("%d of %d pods are of the current template, %d available", c.Updated, c.Desired, c.Available)
	switch verdict {
	case v1alpha1.LimitReached:
		return v1alpha1.Reason{Type: "LimitReached", Object: w.Object,
			Message: fmt.Sprintf("not followed beyond %gs: %s", seconds(t.End), state), Remedy: "follow it for longer"}
	case v1alpha1.DeadlineExceeded:
		return v1alpha1.Reason{Type: deadlineExceeded, Object: w.Object,
			Message: w.Conditions["Progressing"].Message + " " + state}
	}
	return v1alpha1.Reason{Type: "NoProgress", Object: w.Object, Message: "nothing is left that would change anything: " + state}
}

// whyNothing says why no rollout starts.
func (w *Workload) whyNothing() v1alpha1.Reason {
	r := v1alpha1.Reason{Object: w.Object}
	kinds := kindsOf(w.Fields())
	switch {
	case len(w.Changes) == 0:
		r.Type, r.Message = "NoChange", "nothing was changed, and all pods are as wanted"
	case len(kinds) == 0:
		r.Type, r.Message = "NoChange", "the change leaves the object as it is"
	case kinds["template"] && w.Bare():
		r.Type = "BareReplicaSet"
		r.Message = "changing a ReplicaSet's template changes no running pod, only pods created later"
		r.Remedy = "delete its pods one by one, or let a Deployment own the template"
	case kinds["template"]:
		r.Type, r.Message = "SameTemplate", "the template stays equal to that of the current ReplicaSet, so no rollout starts"
	case kinds["replicas"]:
		r.Type, r.Message = "SameReplicas", "as many pods as are wanted are there already"
	case kinds["spec"]:
		r.Type = "SpecOnly"
		r.Message = "a rollout starts only when spec.template changes; what changed here holds from the next rollout on"
	default:
		r.Type = "MetadataOnly"
		r.Message = "only the object's own labels or annotations change; a rollout starts only when spec.template changes"
	}
	return r
}

// kindsOf says which parts of a workload fields belong to.
func kindsOf(fields []trace.Field) map[string]bool {
	kinds := map[string]bool{}
	for _, f := range fields {
		switch {
		case strings.HasPrefix(f.Path, "spec.template"):
			kinds["template"] = true
		case f.Path == "spec.replicas":
			kinds["replicas"] = true
		case strings.HasPrefix(f.Path, "spec"):
			kinds["spec"] = true
		default:
			kinds["metadata"] = true
		}
	}
	return kinds
}
