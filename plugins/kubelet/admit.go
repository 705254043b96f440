package kubelet

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/component-helpers/resource"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// refusal is why a kubelet does not take a pod.
type refusal struct{ reason, message string }

// assigned says that somebody other than a scheduler gave the pod its node, so
// that nothing has been looked at yet. What the scheduler bound fits.
func assigned(pod *corev1.Pod) bool {
	c := find(pod.Status.Conditions, corev1.PodScheduled)
	return (c == nil || c.Status != corev1.ConditionTrue) && pod.DeletionTimestamp == nil &&
		(pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "")
}

// admit holds a pod against its node; the first thing that does not fit is the
// reason (lifecycle/predicate.go Admit).
func (k *Plugin) admit(pod *corev1.Pod) *refusal {
	obj, ok := k.h.Stored().Get(sim.Nodes, "", pod.Spec.NodeName)
	if !ok {
		return nil
	}
	node := obj.(*corev1.Node)
	var others []*corev1.Pod
	for _, obj := range k.h.Stored().List(sim.Pods, "") {
		other, ok := obj.(*corev1.Pod)
		if ok && other.Spec.NodeName == node.Name && other.UID != pod.UID && !ended(other) && k.took(other) {
			others = append(others, other)
		}
	}
	if no := insufficient(pod, node, others); no != nil {
		return no
	}
	switch fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); {
	case !fits || err != nil:
		return predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	case portsTaken(pod, others):
		return predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
	case repelled(pod, node):
		return predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	return nil
}

// took says that a pod's kubelet has taken it up, and not to reject it.
func (k *Plugin) took(pod *corev1.Pod) bool {
	l := k.lifeOf(pod)
	return l != nil && !l.refused
}

func predicate(name, why string) *refusal {
	return &refusal{name, fmt.Sprintf("Predicate %s failed: %s", name, why)}
}

// insufficient is the first resource that the node has too little of.
func insufficient(pod *corev1.Pod, node *corev1.Node, others []*corev1.Pod) *refusal {
	room := node.Status.Allocatable
	if slots := room.Pods().Value(); int64(len(others))+1 > slots {
		return tooLittle(corev1.ResourcePods, 1, int64(len(others)), slots)
	}
	asked, used := requests(pod), corev1.ResourceList{}
	for _, other := range others {
		for name, q := range requests(other) {
			sum := used[name]
			sum.Add(q)
			used[name] = sum
		}
	}
	names := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if _, known := room[name]; known && !slices.Contains(names, name) { // what the node does not count is left out
			names = append(names, name)
		}
	}
	for _, name := range names {
		want, have, all := units(name, asked), units(name, used), units(name, room)
		if want > 0 && want > all-have {
			return tooLittle(name, want, have, all)
		}
	}
	return nil
}

func requests(pod *corev1.Pod) corev1.ResourceList {
	return podresources.PodRequests(pod, podresources.PodResourcesOptions{UseStatusResources: true})
}

// units is a resource as schedulers and kubelets count it: CPU in thousandths.
func units(name corev1.ResourceName, list corev1.ResourceList) int64 {
	q := list[name]
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

func tooLittle(name corev1.ResourceName, asked, used, room int64) *refusal {
	return &refusal{"OutOf" + string(name), fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, asked, used, room)}
}

// portsTaken says whether another pod has one of the host ports.
func portsTaken(pod *corev1.Pod, others []*corev1.Pod) bool {
	for _, want := range hostPorts(pod) {
		for _, other := range others {
			if slices.ContainsFunc(hostPorts(other), func(have corev1.ContainerPort) bool { return clash(want, have) }) {
				return true
			}
		}
	}
	return false
}

// hostPorts are those of containers that run on; init containers give theirs back.
func hostPorts(pod *corev1.Pod) (out []corev1.ContainerPort) {
	see := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				out = append(out, p)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			see(c)
		}
	}
	for i := range pod.Spec.Containers {
		see(&pod.Spec.Containers[i])
	}
	return out
}

func clash(a, b corev1.ContainerPort) bool {
	every := func(ip string) bool { return ip == "" || ip == "0.0.0.0" }
	return a.HostPort == b.HostPort && a.Protocol == b.Protocol && (a.HostIP == b.HostIP || every(a.HostIP) || every(b.HostIP))
}

// repelled says whether the node has a NoExecute taint that the pod does not tolerate.
func repelled(pod *corev1.Pod, node *corev1.Node) bool {
	_, untolerated := schedulinghelpers.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }, false)
	return untolerated
}

// reject makes a pod that its kubelet does not take Failed; its object stays. A
// ReplicaSet replaces it at once, and so on: where nothing takes time they would
// go round within one moment for ever, and a second passes.
func (k *Plugin) reject(l *life, no *refusal) {
	l.refused = true
	wait := k.h.Latency(sim.StartPod)
	if k.h.Instant() {
		wait = relistPeriod
	}
	l.starting = k.h.After(wait, func() {
		pod, ok := k.latest(l)
		if !ok {
			return
		}
		k.h.Event(pod, corev1.EventTypeWarning, no.reason, no.message)
		k.leave(l)
		k.set(l, state{phase: corev1.PodFailed, reason: no.reason, note: "Pod was rejected: " + no.message, rejected: true})
	})
}

// unstarted is the status of a rejected pod: nothing but why, and what others
// have written (kubelet.go rejectPod).
func unstarted(have *corev1.PodStatus, s state) corev1.PodStatus {
	out := corev1.PodStatus{QOSClass: have.QOSClass, StartTime: have.StartTime, Phase: s.phase, Reason: s.reason, Message: s.note}
	for _, c := range have.Conditions {
		if !slices.Contains(owned, c.Type) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	return out
}

// owned are the conditions that a kubelet sets.
var owned = []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled}
