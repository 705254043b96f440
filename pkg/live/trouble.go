package live

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

// Trouble is something that keeps a workload's new pods from becoming ready.
type Trouble struct {
	Type    string // a word of the closed set below
	Object  trace.Ref
	Message string
	// Lasting trouble does not heal by waiting. The rest may, as when old pods
	// make room: it does not where it stands and nothing else moves.
	Lasting bool
}

// The kinds of trouble.
const (
	TroubleImage         = "Image"         // it does not exist, or may not be pulled
	TroubleCrashLoop     = "CrashLoop"     // a container ended more often than is allowed
	TroubleUnschedulable = "Unschedulable" // no node takes a pod
	TroubleQuota         = "Quota"         // pods are refused as beyond a quota
	TroubleRefused       = "Refused"       // pods are refused by a webhook, policy or validation
)

// Troubles are those of the pods of a workload's present template, at most one
// of a type. A container may end restarts times before that counts.
func (s *Snapshot) Troubles(workload trace.Ref, restarts int32) []Trouble {
	rs := s.current(workload)
	if rs == nil {
		return refusedSet(s.Find(workload))
	}
	var out []Trouble
	add := func(t Trouble) {
		if !slices.ContainsFunc(out, func(have Trouble) bool { return have.Type == t.Type }) {
			out = append(out, t)
		}
	}
	if c := rollout.ReplicaSetCondition(rs.Status, appsv1.ReplicaSetReplicaFailure); c != nil && c.Status == corev1.ConditionTrue {
		add(refusal(derive.Ref(rs), c.Message))
	}
	for _, pod := range s.Pods {
		if metav1.IsControlledBy(pod, rs) && pod.DeletionTimestamp == nil && !rollout.IsPodReady(pod) {
			podTroubles(pod, restarts, add)
		}
	}
	return out
}

// current is the ReplicaSet of a workload's present template.
func (s *Snapshot) current(workload trace.Ref) *appsv1.ReplicaSet {
	switch obj := s.Find(workload).(type) {
	case *appsv1.ReplicaSet:
		return obj
	case *appsv1.Deployment:
		var owned []*appsv1.ReplicaSet
		for _, rs := range s.ReplicaSets {
			if metav1.IsControlledBy(rs, obj) {
				owned = append(owned, rs)
			}
		}
		return rollout.FindNewReplicaSet(obj, owned)
	}
	return nil
}

// NewAvailable is how many pods of a workload's present template are available,
// as its ReplicaSet reports.
func (s *Snapshot) NewAvailable(workload trace.Ref) int32 {
	if rs := s.current(workload); rs != nil {
		return rs.Status.AvailableReplicas
	}
	return 0
}

func refusedSet(obj Object) []Trouble {
	d, ok := obj.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	c := rollout.Condition(d.Status.Conditions, appsv1.DeploymentProgressing)
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != "ReplicaSetCreateError" {
		return nil
	}
	return []Trouble{refusal(derive.Ref(d), c.Message)}
}

func refusal(at trace.Ref, message string) Trouble {
	if strings.Contains(message, "exceeded quota") || strings.Contains(message, "failed quota") {
		return Trouble{Type: TroubleQuota, Object: at, Message: message}
	}
	return Trouble{Type: TroubleRefused, Object: at, Message: message}
}

// waitingForever are the reasons of containers that wait for what never comes by itself.
var waitingForever = []string{"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}

func podTroubles(pod *corev1.Pod, restarts int32, add func(Trouble)) {
	at := derive.Ref(pod)
	if message := noNode(pod); message != "" {
		add(Trouble{Type: TroubleUnschedulable, Object: at, Message: message})
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.RestartCount >= restarts && !c.Ready {
				add(crash(at, c))
			}
			if w := c.State.Waiting; w != nil {
				waiting(at, c, w, add)
			}
		}
	}
}

func crash(at trace.Ref, c *corev1.ContainerStatus) Trouble {
	how := ""
	if ended := lastExit(c); ended != nil {
		how = fmt.Sprintf(", last with exit code %d", ended.ExitCode)
		if ended.Reason != "" && ended.Reason != "Error" {
			how += " (" + ended.Reason + ")"
		}
	}
	return Trouble{Type: TroubleCrashLoop, Object: at, Lasting: true,
		Message: fmt.Sprintf("container %s has ended %d times%s", c.Name, c.RestartCount, how)}
}

// missing are words by which registries and runtimes say that an image does
// not exist or is not for everyone.
var missing = []string{"not found", "manifest unknown", "does not exist", "pull access denied", "unauthorized", "authorization failed", "403 forbidden"}

func waiting(at trace.Ref, c *corev1.ContainerStatus, w *corev1.ContainerStateWaiting, add func(Trouble)) {
	lower := strings.ToLower(w.Message)
	gone := slices.ContainsFunc(missing, func(word string) bool { return strings.Contains(lower, word) })
	pull := w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff"
	if !pull && !slices.Contains(waitingForever, w.Reason) {
		return
	}
	message := fmt.Sprintf("container %s, image %q: %s", c.Name, c.Image, w.Reason)
	if w.Message != "" {
		message += ": " + w.Message
	}
	add(Trouble{Type: TroubleImage, Object: at, Message: message, Lasting: !pull || gone})
}
