package explain

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// maxFacts is how many facts are kept: the latest.
const maxFacts = 20

// teller gathers facts.
type teller struct {
	about Object
	list  []v1alpha1.Fact
}

func (t *teller) tell(at time.Time, actor, what, from string) {
	if at.IsZero() {
		return
	}
	t.list = append(t.list, v1alpha1.Fact{Time: metav1.NewMicroTime(at.UTC()), Actor: actor, Object: derive.Ref(t.about), What: what, From: from})
}

// facts are what objects and the Events about them tell of the past: of a pod,
// of its ReplicaSet, and of that one's Deployment; nil ones are left out.
func (s *Snapshot) facts(pod *corev1.Pod, sets ...*appsv1.ReplicaSet) []v1alpha1.Fact {
	t := &teller{}
	var owners []*appsv1.Deployment
	if pod != nil {
		t.pod(pod)
		t.events(s)
	}
	for _, rs := range sets {
		if rs == nil {
			continue
		}
		t.set(rs)
		t.events(s)
		if d := s.owner(rs); d != nil && !slices.Contains(owners, d) {
			owners = append(owners, d)
		}
	}
	for _, d := range owners {
		t.deployment(d)
		t.events(s)
	}
	return t.sorted()
}

func (t *teller) sorted() []v1alpha1.Fact {
	sort.SliceStable(t.list, func(i, j int) bool { return t.list[i].Time.Time.Before(t.list[j].Time.Time) })
	return t.list[max(0, len(t.list)-maxFacts):]
}

// events are those about the object at hand.
func (t *teller) events(s *Snapshot) {
	for _, e := range s.about(derive.Ref(t.about)) {
		what := strings.TrimSuffix(e.Reason+": "+e.Message, ": ")
		if e.Count > 1 {
			what += fmt.Sprintf(" (%d times)", e.Count)
		}
		actor := e.Source.Component
		if actor == "" {
			actor = e.ReportingController
		}
		t.tell(eventTime(e), actor, what, "event")
	}
}

// managed are the writes of others than the cluster's own parts.
func (t *teller) managed(entries []metav1.ManagedFieldsEntry) {
	for _, entry := range entries {
		if entry.Time != nil && !own[entry.Manager] {
			what := strings.ToLower(string(entry.Operation)) + " by " + entry.Manager
			if entry.Subresource != "" {
				what += " of " + entry.Subresource
			}
			t.tell(entry.Time.Time, entry.Manager, what, "managedFields")
		}
	}
}

func (t *teller) pod(pod *corev1.Pod) {
	t.about = pod
	t.tell(pod.CreationTimestamp.Time, maker(pod), "created", "creationTimestamp")
	t.managed(pod.ManagedFields)
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
			t.tell(c.LastTransitionTime.Time, "scheduler", "bound to node "+pod.Spec.NodeName, "condition PodScheduled")
		case c.Type == corev1.PodScheduled, c.Type == corev1.PodReady, c.Type == corev1.DisruptionTarget:
			what := fmt.Sprintf("%s=%s %s", c.Type, c.Status, strings.TrimSuffix(c.Reason+": "+c.Message, ": "))
			t.tell(c.LastTransitionTime.Time, "", strings.TrimSpace(what), "condition "+string(c.Type))
		}
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			t.container(&list[i])
		}
	}
	if pod.DeletionTimestamp != nil {
		what := "asked to go"
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			what += fmt.Sprintf(", with %ds of grace", *grace)
		}
		t.tell(asked(pod), "", what, "deletionTimestamp")
	}
}

// maker is the actor behind an object that a controller owns.
func maker(obj Object) string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return strings.ToLower(owner.Kind)
	}
	return ""
}

func (t *teller) container(s *corev1.ContainerStatus) {
	if s.State.Running != nil {
		t.tell(s.State.Running.StartedAt.Time, "kubelet", "container "+s.Name+" started", "status of container "+s.Name)
	}
	for _, ended := range []*corev1.ContainerStateTerminated{s.LastTerminationState.Terminated, s.State.Terminated} {
		if ended != nil {
			what := fmt.Sprintf("container %s ended with exit code %d%s", s.Name, ended.ExitCode, parenthesis(ended.Reason))
			t.tell(ended.FinishedAt.Time, "kubelet", what, "status of container "+s.Name)
		}
	}
}

func (t *teller) set(rs *appsv1.ReplicaSet) {
	t.about = rs
	t.tell(rs.CreationTimestamp.Time, maker(rs), "created"+revision(rs.Annotations), "creationTimestamp")
	t.managed(rs.ManagedFields)
	for _, c := range rs.Status.Conditions {
		t.tell(c.LastTransitionTime.Time, "", fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), "condition "+string(c.Type))
	}
}

func (t *teller) deployment(d *appsv1.Deployment) {
	t.about = d
	t.tell(d.CreationTimestamp.Time, "", "created", "creationTimestamp")
	t.managed(d.ManagedFields)
	for _, c := range d.Status.Conditions {
		t.tell(c.LastUpdateTime.Time, "deployment", fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), "condition "+string(c.Type))
	}
}
