package timeline

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// blockers are what keeps a workload from being complete: requests that are
// refused, pods that do not become available, old pods that do not end, and
// only when there is none of these, a rule that holds.
func (t *Timeline) blockers(w *Workload) []v1alpha1.Reason {
	found := w.refusals()
	found = append(found, t.troubles(w)...)
	if len(found) == 0 {
		found = t.oldPodsRunning(w)
	}
	if len(found) == 0 {
		found = w.wedged()
	}
	return found
}

// refusals are the last refusals of requests that are still needed.
func (w *Workload) refusals() []v1alpha1.Reason {
	var found []v1alpha1.Reason
	if c := w.Conditions["Progressing"]; c.Status == "False" && c.Reason == "ReplicaSetCreateError" && w.newSet == "" {
		found = append(found, v1alpha1.Reason{Type: c.Reason, Object: w.Object, Message: c.Message, Remedy: refusalRemedy(c.Message)})
	}
	for _, s := range w.Sets {
		by, message, tried := w.lastRefusal(s)
		if message == "" || s.Now() <= w.activeOf(s) {
			continue
		}
		remedy := refusalRemedy(message)
		if remedy != "" && w.holdsOnToOld() {
			remedy += "; or " + letOldGo
		}
		if by != "" {
			message = by + ": " + message
		}
		found = append(found, v1alpha1.Reason{Type: "FailedCreate", Object: s.Object, Remedy: remedy, TriedSeconds: tried,
			Message: fmt.Sprintf("%s of %s refused: %s", pods(s.Now()-w.activeOf(s)), s.Object.Name, message)})
	}
	return found
}

// lastRefusal is the latest refusal of a ReplicaSet's pods, unless one was made
// since, and the times of all since then.
func (w *Workload) lastRefusal(s *Set) (by, message string, tried []float64) {
	made := time.Duration(-1)
	for _, p := range w.Pods {
		if p.Set == s && !p.Found {
			made = max(made, p.Lane[0].At)
		}
	}
	for _, r := range w.refused {
		if r.set == s && r.at >= made {
			by, message = r.by, r.message
			if at := seconds(r.at); !slices.Contains(tried, at) {
				tried = append(tried, at)
			}
		}
	}
	if message == "" && s.Failure.Status == "True" && s.Failure.Reason == "FailedCreate" {
		message = s.Failure.Message
	}
	return by, message, tried
}

func (w *Workload) activeOf(s *Set) int32 {
	n := int32(0)
	for _, p := range w.Pods {
		if p.Set == s && p.Active() {
			n++
		}
	}
	return n
}

// letOldGo is the remedy for rollouts that could go on if an old pod made room.
const letOldGo = "allow maxUnavailable 1 or Recreate: no old pod may go before a new one is ready"

// holdsOnToOld says that old pods take room, and none may go before a new pod is available.
func (w *Workload) holdsOnToOld() bool {
	spec := w.Spec()
	return spec.Strategy == "RollingUpdate" && spec.Unavailable == 0 && w.counts.Active > w.counts.Updated
}

// trouble is pods that are not available for one and the same reason.
type trouble struct {
	kind, message string
	pods          []*Pod
}

// troubles group the pods that should be available and are not. Those of the
// current template come first; others count only when all of these are well,
// since a rollout replaces them anyway.
func (t *Timeline) troubles(w *Workload) []v1alpha1.Reason {
	var current, others []*Pod
	for _, p := range w.Pods {
		switch {
		case !p.Active() || p.State() == Available:
		case w.Bare() || w.IsNew(p.Set.Object.Name):
			current = append(current, p)
		default:
			others = append(others, p)
		}
	}
	if len(current) == 0 && w.newSet != "" {
		current = others
	}
	var found []v1alpha1.Reason
	for _, g := range t.grouped(w, current) {
		found = append(found, t.reasonOf(w, g))
	}
	return found
}

func (t *Timeline) grouped(w *Workload, list []*Pod) []trouble {
	var groups []trouble
	for _, p := range list {
		kind, message := t.troubleOf(w, p)
		i := slices.IndexFunc(groups, func(g trouble) bool {
			return g.kind == kind && g.message == message && g.pods[0].Set == p.Set
		})
		if i < 0 {
			groups = append(groups, trouble{kind: kind, message: message})
			i = len(groups) - 1
		}
		groups[i].pods = append(groups[i].pods, p)
	}
	sort.SliceStable(groups, func(i, j int) bool { return len(groups[i].pods) > len(groups[j].pods) })
	return groups
}

func (t *Timeline) troubleOf(w *Workload, p *Pod) (kind, message string) {
	switch {
	case p.Unschedulable != nil && p.Node == "":
		return "Unschedulable", p.Unschedulable.Message
	case p.State() == Ready:
		return "MinReadySeconds", fmt.Sprintf("ready, but not yet for minReadySeconds (%ds)", w.Spec().MinReadySeconds)
	case t.isLost(p):
		return nodeLost, ""
	case p.Trouble != "":
		return p.Trouble, p.Trouble
	case p.State() == Running:
		return "NotReady", "running, but not ready"
	case p.Node == "":
		return "NotScheduled", "no scheduler has looked at it yet"
	}
	return "NotStarted", "on its node, but not running"
}

func (t *Timeline) reasonOf(w *Workload, g trouble) v1alpha1.Reason {
	first := g.pods[0]
	if g.kind == nodeLost {
		return t.reasonOfLost(g)
	}
	r := v1alpha1.Reason{Type: g.kind, Object: first.Object, Message: first.Object.Name + ": " + g.message}
	if n := len(g.pods); n > 1 {
		r.Object = first.Set.Object
		r.Message = fmt.Sprintf("%s of %s: %s", pods(int32(n)), first.Set.Object.Name, g.message)
	}
	if g.kind == "Unschedulable" {
		lost := t.Lost()
		r.Remedy = schedulingRemedy(*first.Unschedulable, lost)
		gone, _ := tainted(*first.Unschedulable, lost)
		if somewhere := len(gone) < max(len(first.Unschedulable.Nodes), 1); r.Remedy != "" && w.holdsOnToOld() && somewhere {
			r.Remedy += "; or " + letOldGo
		}
		return r
	}
	r.Remedy = containerRemedy(g.kind, w.image())
	if r.Remedy != "" && w.counts.Active > w.counts.Updated && !w.Bare() {
		r.Remedy += "; or go back: kubectl rollout undo " + command(w.Object)
	}
	return r
}

// image is the last image that people changed to; empty for none.
func (w *Workload) image() string {
	image := ""
	for _, f := range w.Fields() {
		if strings.HasSuffix(f.Path, ".image") {
			image = f.To
		}
	}
	return image
}

// oldPodsRunning is what a Recreate rollout waits for.
func (t *Timeline) oldPodsRunning(w *Workload) []v1alpha1.Reason {
	var old []*Pod
	for _, p := range w.Pods {
		if s := p.State(); s != Gone && s != Ended && !w.IsNew(p.Set.Object.Name) {
			old = append(old, p)
		}
	}
	if w.Spec().Strategy != "Recreate" || len(old) == 0 {
		return nil
	}
	first := old[0]
	r := v1alpha1.Reason{
		Type: string(trace.OldPodsRunning), Object: first.Object,
		Message: fmt.Sprintf("%s of the old template still there (%s is %s since %gs): Recreate makes no new pod before they have ended",
			pods(int32(len(old))), first.Object.Name, first.State(), seconds(first.Since())),
		Remedy: "see why they do not end: a lost node, a finalizer or a long grace period",
	}
	if lost := t.under(old); len(lost) > 0 {
		r.Message, r.Remedy = r.Message+"; "+LostWords(lost), lostRemedy(lost)
	}
	return []v1alpha1.Reason{r}
}

// wedged is a ReplicaSet whose annotations make every pass a scaling one.
func (w *Workload) wedged() []v1alpha1.Reason {
	for _, h := range slices.Backward(w.held) {
		if h.Why == trace.Wedged {
			return []v1alpha1.Reason{{
				Type: string(trace.Wedged), Object: h.object,
				Message: fmt.Sprintf("the desired-replicas annotation of %s is not spec.replicas, so every pass is taken for scaling and no rollout step follows", h.object.Name),
				Remedy: fmt.Sprintf("kubectl annotate %s deployment.kubernetes.io/desired-replicas=%d --overwrite, or scale the Deployment and back",
					command(h.object), w.Spec().Replicas),
			}}
		}
	}
	return nil
}

func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
