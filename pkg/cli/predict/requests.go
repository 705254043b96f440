package predict

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/component-helpers/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// meter adds up what the pods of some workloads ask for, as the events of a run
// come in. Pods count from their creation until they end or are gone.
type meter struct {
	workloads []trace.Ref
	stored    sim.Reader
	fresh     []trace.Ref // made by the last events, and stored by the next
	counted   map[trace.Ref]v1alpha1.Requests
	now, peak v1alpha1.Requests
	// asked is what pods ask for by their first container, which those of one
	// template share and with it all else that counts.
	asked map[*corev1.Container]v1alpha1.Requests
}

func newMeter(workloads []trace.Ref) *meter {
	return &meter{workloads: workloads, counted: map[trace.Ref]v1alpha1.Requests{}, asked: map[*corev1.Container]v1alpha1.Requests{}}
}

// see is told of each event.
func (m *meter) see(e trace.Event) {
	m.settle()
	if e.Object.Kind != "Pod" {
		return
	}
	switch d := e.Detail.(type) {
	case trace.Found, trace.Created:
		m.fresh = append(m.fresh, e.Object)
	case trace.PodChanged:
		if d.Phase == string(corev1.PodSucceeded) || d.Phase == string(corev1.PodFailed) {
			m.drop(e.Object)
		}
	case trace.Removed:
		m.drop(e.Object)
	}
}

// settle counts pods that were made: an event tells of a write before it is stored.
func (m *meter) settle() {
	for _, at := range m.fresh {
		if pod, ok := m.pod(at); ok {
			asks := m.asks(pod)
			m.counted[at] = asks
			m.now.MilliCPU += asks.MilliCPU
			m.now.MemoryBytes += asks.MemoryBytes
		}
	}
	m.fresh = m.fresh[:0]
	m.peak.MilliCPU = max(m.peak.MilliCPU, m.now.MilliCPU)
	m.peak.MemoryBytes = max(m.peak.MemoryBytes, m.now.MemoryBytes)
}

func (m *meter) asks(pod *corev1.Pod) v1alpha1.Requests {
	var first *corev1.Container
	if len(pod.Spec.Containers) > 0 {
		first = &pod.Spec.Containers[0]
	}
	asks, known := m.asked[first]
	if !known || first == nil {
		list := podresources.PodRequests(pod, podresources.PodResourcesOptions{})
		asks = v1alpha1.Requests{MilliCPU: list.Cpu().MilliValue(), MemoryBytes: list.Memory().Value()}
		m.asked[first] = asks
	}
	return asks
}

func (m *meter) drop(at trace.Ref) {
	m.now.MilliCPU -= m.counted[at].MilliCPU
	m.now.MemoryBytes -= m.counted[at].MemoryBytes
	delete(m.counted, at)
}

// pod is a pod that is still to be counted, if it belongs to one of the workloads.
func (m *meter) pod(at trace.Ref) (*corev1.Pod, bool) {
	obj, ok := m.stored.Get(sim.Pods, at.Namespace, at.Name)
	if !ok {
		return nil, false
	}
	if _, again := m.counted[at]; again {
		return nil, false
	}
	pod := obj.(*corev1.Pod)
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return pod, !ended && slices.Contains(m.workloads, workloadOf(m.stored, pod))
}

// most is the peak once the run is over.
func (m *meter) most() v1alpha1.Requests {
	m.settle()
	return m.peak
}

// workloadOf is the Deployment or bare ReplicaSet that a pod belongs to.
func workloadOf(stored sim.Reader, pod *corev1.Pod) trace.Ref {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return trace.Ref{}
	}
	if rs, ok := stored.Get(sim.ReplicaSets, pod.Namespace, owner.Name); ok {
		if up := metav1.GetControllerOfNoCopy(rs); up != nil {
			owner = up
		}
	}
	return trace.Ref{Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name}
}
