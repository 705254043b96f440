package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// state is what the crew as a whole comes to (kubelet_pods.go getPhase): a pod
// is Running once each of its main containers has been started, and stays so
// while they crash.
func (w *crew) state() state {
	s := state{phase: corev1.PodRunning, ready: true, crew: w}
	over, code := true, int32(0)
	for _, c := range w.all {
		s.restarts = max(s.restarts, c.restarts)
		if c.waiting != "" && s.waiting == "" {
			s.waiting, s.message = c.waiting, c.message
		}
		s.ready = s.ready && (c.role == initContainer || c.ready())
		if c.role == initContainer && c.phase == dead && !c.restartable(c.ended.ExitCode) && c.ended.ExitCode != 0 {
			return state{phase: corev1.PodFailed, exitCode: c.ended.ExitCode, restarts: s.restarts, crew: w}
		}
		if c.role != mainContainer {
			continue
		}
		if !c.began {
			s.phase = corev1.PodPending
		}
		if c.phase != dead || c.restartable(c.ended.ExitCode) {
			over = false
		} else if code == 0 {
			code = c.ended.ExitCode
		}
	}
	if over {
		s.phase, s.ready, s.exitCode = corev1.PodSucceeded, false, code
		if code != 0 {
			s.phase = corev1.PodFailed
		}
	}
	return s
}

// statuses are those of the init containers and sidecars, and of the others.
func (w *crew) statuses() (init, main []corev1.ContainerStatus) {
	waiting := "ContainerCreating"
	if len(w.spec.InitContainers) > 0 {
		waiting = "PodInitializing"
		init = make([]corev1.ContainerStatus, 0, len(w.spec.InitContainers))
	}
	main = make([]corev1.ContainerStatus, 0, len(w.spec.Containers))
	for _, c := range w.all {
		if s := c.status(waiting); c.role == mainContainer {
			main = append(main, s)
		} else {
			init = append(init, s)
		}
	}
	return init, main
}

func (c *container) status(waiting string) corev1.ContainerStatus {
	started := c.started && c.phase == running && !c.unseen
	s := corev1.ContainerStatus{Name: c.spec.Name, Image: c.spec.Image, Ready: c.ready(), Started: &started, RestartCount: c.restarts}
	if c.before != nil {
		s.LastTerminationState.Terminated = c.before
	}
	switch {
	case c.waiting != "":
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: c.waiting, Message: c.message}
		if c.ended != nil {
			s.LastTerminationState.Terminated = c.ended
		}
	case c.phase == running:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: seconds(c.startedAt)}
	case c.phase == dead:
		s.State.Terminated = c.ended
	default:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: waiting}
	}
	return s
}

// conditions are those a kubelet derives from the containers (status/generate.go).
func (w *crew) conditions(pod *corev1.Pod, s state, at metav1.Time, observed int64) []corev1.PodCondition {
	var unready, incomplete []string
	began := false
	for _, c := range w.all {
		began = began || c.role == mainContainer && c.began
		if c.role != initContainer && !c.ready() {
			unready = append(unready, c.spec.Name)
		}
		if c.role != mainContainer && !c.passed() {
			incomplete = append(incomplete, c.spec.Name)
		}
	}
	message := ""
	if !s.terminal() {
		message = fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))
	}
	ready := len(unready) == 0 && !s.terminal()
	initialized := began || len(incomplete) == 0 || s.phase == corev1.PodSucceeded
	wanted := []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, !s.terminal(), "", ""),
		condition(corev1.PodInitialized, initialized, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(incomplete, " "))),
		condition(corev1.PodReady, ready, unreadyReason(s), message),
		condition(corev1.ContainersReady, ready, unreadyReason(s), message),
		condition(corev1.PodScheduled, true, "", ""),
	}
	return merge(pod.Status.Conditions, wanted, at, observed)
}
