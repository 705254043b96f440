package livetest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Play is the scheduler and the kubelets of a Server that is Live, until ctx
// ends: pods are bound at once, are ready after a time and go after another.
// Images whose name has "missing" or "crash" in it do what they say.
func (s *Server) Play(ctx context.Context, ready, gone time.Duration) {
	p := &players{server: s, ready: ready, gone: gone, began: map[string]time.Time{}}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.data.Lock()
			p.look()
			s.data.Unlock()
		}
	}
}

type players struct {
	server      *Server
	ready, gone time.Duration
	began       map[string]time.Time // of what is under way, by UID and what it is
	bound       int
}

// since is how long something has been so.
func (p *players) since(what string) time.Duration {
	began, known := p.began[what]
	if !known {
		began = time.Now()
		p.began[what] = began
	}
	return time.Since(began)
}

func (p *players) look() {
	for _, obj := range slices.Clone(p.server.Objects) {
		if p.collect(obj) {
			continue
		}
		if pod, ok := obj.(*corev1.Pod); ok {
			p.play(pod)
		}
	}
}

// collect is the garbage collector: what an owner that is gone has left, goes.
func (p *players) collect(obj runtime.Object) bool {
	owner, m := metav1.GetControllerOf(object(obj)), object(obj)
	if owner == nil || m.GetDeletionTimestamp() != nil || slices.ContainsFunc(p.server.Objects, func(o runtime.Object) bool { return object(o).GetUID() == owner.UID }) {
		return false
	}
	resource := strings.ToLower(obj.GetObjectKind().GroupVersionKind().Kind) + "s"
	p.server.remove(target{resource: resource, namespace: m.GetNamespace(), name: m.GetName()})
	return true
}

func (p *players) play(pod *corev1.Pod) {
	uid := string(pod.UID)
	switch {
	case pod.DeletionTimestamp != nil:
		if p.since(uid+" leaving") >= p.gone {
			p.server.drop(p.server.find(target{resource: "pods", namespace: pod.Namespace, name: pod.Name}))
		}
	case pod.Spec.NodeName == "":
		p.write(pod, "kube-scheduler", "", func(pod *corev1.Pod) {
			pod.Spec.NodeName = NodeName(p.bound)
			p.bound++
			set(pod, corev1.PodScheduled, p.server.Now())
		})
	case isReady(pod):
	case strings.Contains(pod.Spec.Containers[0].Image, "missing"):
		if len(pod.Status.ContainerStatuses) == 0 {
			p.write(pod, "kubelet", "status", pullFails)
		}
	case strings.Contains(pod.Spec.Containers[0].Image, "crash"):
		p.crash(pod)
	case p.since(uid+" starting") >= p.ready:
		p.write(pod, "kubelet", "status", func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodRunning
			set(pod, corev1.ContainersReady, p.server.Now())
			set(pod, corev1.PodReady, p.server.Now())
		})
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func set(pod *corev1.Pod, kind corev1.PodConditionType, at time.Time) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)})
}

func pullFails(pod *corev1.Pod) {
	c := &pod.Spec.Containers[0]
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: c.Name, Image: c.Image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ErrImagePull", Message: "failed to pull and unpack image " + strconv.Quote(c.Image) + ": not found"}}}}
}

// crash ends the container again and again, every tenth of a second.
func (p *players) crash(pod *corev1.Pod) {
	restarts := int32(p.since(string(pod.UID)+" crashing") / (100 * time.Millisecond))
	if restarts == 0 || len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount >= restarts {
		return
	}
	p.write(pod, "kubelet", "status", func(pod *corev1.Pod) {
		c := &pod.Spec.Containers[0]
		ended := &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", FinishedAt: metav1.NewTime(p.server.Now()), ContainerID: strconv.Itoa(int(restarts))}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: c.Name, Image: c.Image, RestartCount: restarts,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off restarting failed container"}},
			LastTerminationState: corev1.ContainerState{Terminated: ended}}}
	})
}

// write stores a pod's next version.
func (p *players) write(pod *corev1.Pod, manager, subresource string, do func(*corev1.Pod)) {
	i := p.server.find(target{resource: "pods", namespace: pod.Namespace, name: pod.Name})
	next := p.server.Objects[i].DeepCopyObject().(*corev1.Pod)
	do(next)
	p.server.signAs(manager, subresource, next)
	p.server.Objects[i] = next
	p.server.publish("MODIFIED", next)
}

// Get is an object of the store as it is now, or nil.
func (s *Server) Get(resource, namespace, name string) runtime.Object {
	s.data.Lock()
	defer s.data.Unlock()
	if i := s.find(target{resource: resource, namespace: namespace, name: name}); i >= 0 {
		return s.Objects[i].DeepCopyObject()
	}
	return nil
}

// Count is how many objects of a resource in a namespace, as they are now, match.
func (s *Server) Count(resource, namespace string, matches func(runtime.Object) bool) int {
	s.data.Lock()
	defer s.data.Unlock()
	n := 0
	for _, obj := range s.Objects {
		if obj.GetObjectKind().GroupVersionKind() == resources[resource].gvk && object(obj).GetNamespace() == namespace && matches(obj) {
			n++
		}
	}
	return n
}

// Edit changes an object as somebody else would.
func (s *Server) Edit(manager, resource, namespace, name string, do func(runtime.Object)) bool {
	s.data.Lock()
	defer s.data.Unlock()
	i := s.find(target{resource: resource, namespace: namespace, name: name})
	if i < 0 {
		return false
	}
	next := s.Objects[i].DeepCopyObject()
	do(next)
	if !sameField(next, s.Objects[i], "Spec") {
		object(next).SetGeneration(object(next).GetGeneration() + 1)
	}
	s.signAs(manager, "", next)
	s.Objects[i] = next
	s.publish("MODIFIED", next)
	return true
}
