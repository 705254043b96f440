package kubelet

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Disconnect cuts a node's kubelet off from the API server, as when the node
// dies: what it would write is lost, and deletions do not reach it. It returns
// the event of the last heartbeat, which all that follows comes of.
func (k *Plugin) Disconnect(node string) trace.Seq {
	k.cut[node] = true
	return k.h.EmitOn(node, trace.Ref{Kind: "Node", Name: node}, trace.Heartbeat{State: "Stopped"})
}

// Connect lets a kubelet come back: it reports its node ready, ends the pods
// that were deleted in the meantime and publishes how the others are.
func (k *Plugin) Connect(node string) trace.Seq {
	seq := k.h.EmitOn(node, trace.Ref{Kind: "Node", Name: node}, trace.Heartbeat{State: "Resumed"})
	if !k.cut[node] {
		return seq
	}
	delete(k.cut, node)
	k.h.Under(seq, func() {
		k.reportNode(node)
		for _, obj := range k.h.Stored().List(sim.Pods, "") {
			if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName == node {
				k.catchUp(pod)
			}
		}
		k.buryMissed(node)
	})
	return seq
}

// findCut takes nodes for cut off whose kubelets had stopped before the run.
func (k *Plugin) findCut() {
	for _, obj := range k.h.Stored().List(sim.Nodes, "") {
		node, ok := obj.(*corev1.Node)
		if !ok {
			continue
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
				k.cut[node.Name] = true
			}
		}
	}
}

// catchUp brings a kubelet and a pod's object together.
func (k *Plugin) catchUp(pod *corev1.Pod) {
	number, _ := k.h.Number(sim.Pods, pod.Namespace, pod.Name)
	l := k.lives.At(number, pod.UID)
	switch {
	case l == nil && !ended(pod):
		k.begin(number, pod)
	case l == nil || ended(pod):
		k.finish(l, number, pod)
	case l.was.terminal():
		if k.set(l, l.was); pod.DeletionTimestamp != nil {
			l.exiting = k.h.After(k.h.Latency(sim.CallLatency), l.remove)
		}
	case pod.DeletionTimestamp != nil:
		l.terminate(pod)
	default:
		k.set(l, l.was)
	}
}

// buryMissed forgets the pods whose objects went while the node was cut off.
func (k *Plugin) buryMissed(node string) {
	var missed []*life
	for _, l := range append(k.lives.All(), k.outlived...) {
		if _, there := k.latest(l); !there && l.node == node {
			missed = append(missed, l)
		}
	}
	slices.SortFunc(missed, func(a, b *life) int { return strings.Compare(string(a.uid), string(b.uid)) })
	for _, l := range missed {
		k.bury(l)
	}
}

// healthy is what a kubelet says of a node that is well (pkg/kubelet/nodestatus/setters.go).
var healthy = map[corev1.NodeConditionType]corev1.NodeCondition{
	corev1.NodeReady:          {Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	corev1.NodeMemoryPressure: {Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
	corev1.NodeDiskPressure:   {Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
	corev1.NodePIDPressure:    {Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
}

// reportNode publishes a node's conditions after a silence.
func (k *Plugin) reportNode(name string) {
	obj, ok := k.h.Stored().Get(sim.Nodes, "", name)
	if !ok {
		return
	}
	node := *obj.(*corev1.Node)
	at := metav1.NewTime(k.h.Now().Truncate(time.Second))
	node.Status.Conditions = slices.Clone(node.Status.Conditions)
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		well, known := healthy[c.Type]
		if !known {
			continue
		}
		if c.Status != well.Status {
			c.LastTransitionTime = at
		}
		c.Status, c.Reason, c.Message, c.LastHeartbeatTime = well.Status, well.Reason, well.Message, at
	}
	// A refused report is made again.
	if _, err := k.h.UpdateStatus(&node); err != nil {
		k.h.After(retryStatus, func() { k.reportNode(name) })
	}
}
