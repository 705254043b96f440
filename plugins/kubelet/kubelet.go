// Package kubelet is the kubelets of all nodes: they start pods that are bound,
// publish their status and end them when they are deleted. How long a pod takes
// and whether it ever becomes ready is its Profile.
package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// retryStatus is how long a kubelet waits before it writes a refused status
// again (pkg/kubelet/status syncPeriod).
const retryStatus = 10 * time.Second

// Plugin is all kubelets of the world.
type Plugin struct {
	profiles Profiles
	h        *sim.Hands
	lives    sim.Known[life]
	// outlived are lives whose pods went while their nodes were cut off, and
	// whose names others have by now.
	outlived []*life
	// owners keeps, for each owner of revisions, the lives of its pods.
	owners map[types.UID]*family
	began  time.Time
	// unmounted are pods that wait for their volumes.
	unmounted []unmounted
	// cut are the nodes that the API server does not reach.
	cut    map[string]bool
	images registry
}

// New makes the kubelets; profiles says how pods behave.
func New(profiles Profiles) *Plugin {
	return &Plugin{profiles: profiles, owners: map[types.UID]*family{}, cut: map[string]bool{}}
}

// Name is the actor in the trace.
func (k *Plugin) Name() string { return trace.ActorKubelet }

// Start watches pods.
func (k *Plugin) Start(h *sim.Hands) {
	k.h = h
	k.began = h.Now().Truncate(time.Second)
	k.findCut()
	k.watchVolumes()
	h.Follow(sim.Pods, k.observe)
}

func (k *Plugin) observe(c engine.Change, number int) {
	pod, ok := c.New.(*corev1.Pod)
	if !ok || k.cut[pod.Spec.NodeName] || c.Verb != engine.Deleted && (pod.Spec.NodeName == "" || goesOn(c.Old, pod)) {
		return
	}
	l := k.lives.At(number, pod.UID)
	switch {
	case c.Verb == engine.Deleted:
		if l != nil {
			k.bury(l)
		}
	case ended(pod):
		k.finish(l, number, pod)
	case l == nil:
		k.begin(number, pod)
	case pod.DeletionTimestamp != nil:
		l.terminate(pod)
	}
}

// goesOn says that a pod was on the node before the change and stays there: most
// changes are what the kubelet itself published.
func goesOn(before runtime.Object, pod *corev1.Pod) bool {
	old, ok := before.(*corev1.Pod)
	return ok && old.Spec.NodeName == pod.Spec.NodeName && old.DeletionTimestamp == nil && pod.DeletionTimestamp == nil && !ended(old) && !ended(pod)
}

// begin takes up a pod that is bound to a node. Pods that were there when the
// run began go on from where their status says they are.
func (k *Plugin) begin(number int, pod *corev1.Pod) {
	l := k.newLife(number, pod)
	k.join(l, pod)
	if assigned(pod) && !k.h.Settling() {
		if no := k.admit(pod); no != nil {
			k.reject(l, no)
			return
		}
	}
	switch {
	case pod.DeletionTimestamp != nil:
		l.terminate(pod)
	case l.was.phase == corev1.PodRunning && l.was.ready:
		if l.crew != nil {
			l.crew.goOn()
		}
	case k.mounts(l, pod):
		l.start(k.boundAt(pod))
	}
}

// finish stops what was to become of a pod that is in a terminal phase now,
// whoever put it there. One that was found so, deleted, is still to be removed.
func (k *Plugin) finish(l *life, number int, pod *corev1.Pod) {
	switch {
	case l != nil:
		for _, t := range []*sim.Timer{l.starting, l.readying, l.retry} {
			k.h.Stop(t)
		}
		if l.crew != nil {
			l.crew.stopTimers()
		}
		k.leave(l)
	case pod.DeletionTimestamp != nil:
		l = k.newLife(number, pod)
		l.exiting = k.h.After(k.h.Latency(sim.RemovePod), l.remove)
	}
}

// lifeOf is a pod's life, for those who were not given the number.
func (k *Plugin) lifeOf(pod metav1.Object) *life {
	number, ok := k.h.Number(sim.Pods, pod.GetNamespace(), pod.GetName())
	if !ok {
		return nil
	}
	return k.lives.At(number, pod.GetUID())
}

func (k *Plugin) newLife(number int, pod *corev1.Pod) *life {
	l := &life{k: k, number: number, key: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, uid: pod.UID,
		node: pod.Spec.NodeName, profile: k.profiles(pod), was: found(pod)}
	if was := k.lives.Set(number, l.uid, l); was != nil {
		k.outlived = append(k.outlived, was)
	}
	if !ordinary(&pod.Spec, &l.profile) {
		l.crew = newCrew(l, pod)
	}
	return l
}

// boundAt is when the pod was bound: now, unless it was already bound when the
// run began. The condition's whole seconds are exact enough for those.
func (k *Plugin) boundAt(pod *corev1.Pod) time.Time {
	c := find(pod.Status.Conditions, corev1.PodScheduled)
	if c != nil && c.Status == corev1.ConditionTrue && c.LastTransitionTime.Time.Before(k.began) && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	return k.h.Now()
}

// bury forgets a pod whose object is gone.
func (k *Plugin) bury(l *life) {
	l.stopTimers()
	l.buried = true
	if k.lives.At(l.number, l.uid) == l {
		k.lives.Set(l.number, l.uid, nil)
	} else {
		k.outlived = slices.DeleteFunc(k.outlived, func(o *life) bool { return o == l })
	}
	k.leave(l)
}

// latest is the pod as stored. A kubelet patches status without a
// resourceVersion, so that its writes never conflict; reading the truth just
// before each write has the same effect.
func (k *Plugin) latest(l *life) (*corev1.Pod, bool) {
	obj, ok := k.h.Numbered(sim.Pods, l.number)
	if !ok {
		return nil, false
	}
	pod, ok := obj.(*corev1.Pod)
	return pod, ok && pod.UID == l.uid
}

// set publishes a state, and tries again later when the API refuses it.
func (k *Plugin) set(l *life, s state) {
	l.was = s
	pod, ok := k.latest(l)
	if !ok || ended(pod) || k.cut[l.node] {
		return
	}
	out := publish(pod, s, k.h.Now(), k.h.Version().PodGeneration())
	if _, err := k.h.GiveStatus(out); err != nil {
		l.retry = k.h.After(retryStatus, func() { k.set(l, l.was) })
		return
	}
}

// found is the state that a pod's stored status tells of.
func found(pod *corev1.Pod) state {
	s := state{phase: pod.Status.Phase}
	if s.phase == "" {
		s.phase = corev1.PodPending
	}
	if c := find(pod.Status.Conditions, corev1.PodReady); c != nil {
		s.ready = c.Status == corev1.ConditionTrue
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		s.restarts = max(s.restarts, c.RestartCount)
		if c.State.Waiting != nil {
			s.waiting, s.message = c.State.Waiting.Reason, c.State.Waiting.Message
		}
	}
	return s
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}
