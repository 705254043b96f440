package kubelet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// state is what a kubelet knows of a pod's containers and publishes as status.
type state struct {
	phase    corev1.PodPhase
	ready    bool
	restarts int32
	// waiting is why containers do not run: ErrImagePull, CrashLoopBackOff.
	waiting string
	message string
	// exitCode of the containers in a terminal phase.
	exitCode int32
	// reason and note are the pod's own, as for Evicted.
	reason, note string
	// disrupted says that the kubelet threw the pod out.
	disrupted bool
	// rejected says that the kubelet never took the pod.
	rejected bool
	// crew has the containers one by one, where they are followed so.
	crew *crew
}

func (s state) terminal() bool {
	return s.phase == corev1.PodFailed || s.phase == corev1.PodSucceeded
}

// publish is a copy of the pod with the status that the state calls for. Times
// have whole seconds, as the API stores them. Conditions keep their transition
// time while their status stays the same (kubelet_pods.go generateAPIPodStatus,
// status/generate.go).
func publish(pod *corev1.Pod, s state, now time.Time, generations bool) *corev1.Pod {
	at := metav1.NewTime(now.Truncate(time.Second))
	out := *pod
	st := &out.Status
	if s.rejected {
		*st = unstarted(st, s)
	}
	st.Phase, st.Reason, st.Message = s.phase, s.reason, s.note
	if st.StartTime == nil {
		st.StartTime = &at
	}
	var observed int64
	if generations {
		observed = pod.Generation
		st.ObservedGeneration = observed
	}
	switch {
	case s.rejected:
		return &out
	case s.crew != nil:
		st.InitContainerStatuses, st.ContainerStatuses = s.crew.statuses()
		st.Conditions = s.crew.conditions(pod, s, at, observed)
	default:
		st.ContainerStatuses = containers(pod, pod.Spec.Containers, s, at)
		st.InitContainerStatuses = initContainers(pod, s, at)
		st.Conditions = conditions(pod, s, at, observed)
	}
	if s.disrupted {
		st.Conditions = disruption(st.Conditions, s.note, at, observed)
	}
	return &out
}

func containers(pod *corev1.Pod, specs []corev1.Container, s state, at metav1.Time) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, len(specs))
	for i := range specs {
		c := &specs[i]
		running := s.phase == corev1.PodRunning && s.waiting == ""
		started := running
		out[i] = corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: s.ready, Started: &started,
			RestartCount: s.restarts, State: containerState(pod, c.Name, s, at),
		}
	}
	return out
}

func containerState(pod *corev1.Pod, name string, s state, at metav1.Time) corev1.ContainerState {
	since := startedAt(pod, name, s.restarts)
	switch {
	case s.terminal():
		t := &corev1.ContainerStateTerminated{ExitCode: s.exitCode, Reason: "Error", StartedAt: since, FinishedAt: at}
		if s.exitCode == 0 {
			t.Reason = "Completed"
		}
		return corev1.ContainerState{Terminated: t}
	case s.waiting != "":
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: s.waiting, Message: s.message}}
	case s.phase == corev1.PodPending:
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	}
	if since.IsZero() {
		since = at
	}
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}
}

// startedAt is when the container's present run began; zero when it is not running.
func startedAt(pod *corev1.Pod, name string, restarts int32) metav1.Time {
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		if c.Name == name && c.State.Running != nil && c.RestartCount == restarts {
			return c.State.Running.StartedAt
		}
	}
	return metav1.Time{}
}

// initContainers have all done their work once the pod runs; sidecars go on.
func initContainers(pod *corev1.Pod, s state, at metav1.Time) []corev1.ContainerStatus {
	if len(pod.Spec.InitContainers) == 0 {
		return nil
	}
	out := containers(pod, pod.Spec.InitContainers, state{phase: s.phase, exitCode: s.exitCode}, at)
	for i := range out {
		sidecar := pod.Spec.InitContainers[i].RestartPolicy != nil
		switch {
		case s.phase == corev1.PodPending:
			out[i].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		case sidecar:
			out[i].Ready = s.phase == corev1.PodRunning
		default:
			started := false
			out[i].Ready, out[i].Started = true, &started
			out[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: at}}
			if len(pod.Status.InitContainerStatuses) > i && pod.Status.InitContainerStatuses[i].State.Terminated != nil {
				out[i].State = pod.Status.InitContainerStatuses[i].State
			}
		}
	}
	return out
}

func conditions(pod *corev1.Pod, s state, at metav1.Time, observed int64) []corev1.PodCondition {
	sandbox := s.phase == corev1.PodRunning || s.waiting != ""
	initialized := len(pod.Spec.InitContainers) == 0 || s.phase != corev1.PodPending
	var reason, unready, missing string // worded only where they are published
	if !s.ready {
		reason, unready = unreadyReason(s), unreadyMessage(pod, s)
	}
	if !initialized {
		missing = incomplete(pod)
	}
	wanted := [...]corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, sandbox, "", ""),
		condition(corev1.PodInitialized, initialized, "ContainersNotInitialized", missing),
		condition(corev1.PodReady, s.ready, reason, unready),
		condition(corev1.ContainersReady, s.ready, reason, unready),
		condition(corev1.PodScheduled, true, "", ""),
	}
	return merge(pod.Status.Conditions, wanted[:], at, observed)
}

// merge puts the wanted conditions first, in order, and keeps those of others
// (DisruptionTarget, say) behind them.
func merge(have, wanted []corev1.PodCondition, at metav1.Time, observed int64) []corev1.PodCondition {
	others := 0
	for i := range have {
		if find(wanted, have[i].Type) == nil {
			others++
		}
	}
	out := make([]corev1.PodCondition, 0, len(wanted)+others)
	for _, c := range wanted {
		c.LastTransitionTime, c.ObservedGeneration = at, observed
		if old := find(have, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		out = append(out, c)
	}
	if others == 0 {
		return out
	}
	for _, c := range have {
		if find(wanted, c.Type) == nil {
			out = append(out, c)
		}
	}
	return out
}

func find(conditions []corev1.PodCondition, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
		}
	}
	return nil
}

// condition carries its reason and message only while it is not true.
func condition(t corev1.PodConditionType, ok bool, reason, message string) corev1.PodCondition {
	if ok {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue}
	}
	return corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
}

func unreadyReason(s state) string {
	switch s.phase {
	case corev1.PodFailed:
		return "PodFailed"
	case corev1.PodSucceeded:
		return "PodCompleted"
	}
	return "ContainersNotReady"
}

func unreadyMessage(pod *corev1.Pod, s state) string {
	if s.terminal() {
		return ""
	}
	return fmt.Sprintf("containers with unready status: [%s]", names(pod.Spec.Containers))
}

func incomplete(pod *corev1.Pod) string {
	return fmt.Sprintf("containers with incomplete status: [%s]", names(pod.Spec.InitContainers))
}

func names(containers []corev1.Container) string {
	out := make([]string, len(containers))
	for i := range containers {
		out[i] = containers[i].Name
	}
	return strings.Join(out, " ")
}
