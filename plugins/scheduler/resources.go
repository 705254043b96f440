package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"
)

// What a pod without requests counts for in scores (scheduler/util/pod_resources.go).
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 * 1024 * 1024
)

// amounts are resources in the units that are compared: milli-CPU, bytes, counts.
type amounts struct {
	cpu, memory, storage int64
	others               map[corev1.ResourceName]int64
}

func amountsOf(list corev1.ResourceList) amounts {
	var a amounts
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = q.MilliValue()
		case corev1.ResourceMemory:
			a.memory = q.Value()
		case corev1.ResourceEphemeralStorage:
			a.storage = q.Value()
		case corev1.ResourcePods:
		default:
			if a.others == nil {
				a.others = map[corev1.ResourceName]int64{}
			}
			a.others[name] = q.Value()
		}
	}
	return a
}

// add changes a by sign times b.
func (a *amounts) add(b amounts, sign int64) {
	a.cpu += sign * b.cpu
	a.memory += sign * b.memory
	a.storage += sign * b.storage
	for name, v := range b.others {
		if a.others == nil {
			a.others = map[corev1.ResourceName]int64{}
		}
		a.others[name] += sign * v
	}
}

// otherNames are the names of the less common resources, sorted.
func (a amounts) otherNames() []corev1.ResourceName {
	if len(a.others) == 0 {
		return nil
	}
	names := make([]corev1.ResourceName, 0, len(a.others))
	for name := range a.others {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// need is what a pod asks for, and what it counts for in scores.
type need struct {
	asked, scored, weighed amounts
	others                 []corev1.ResourceName // the less common ones of asked, sorted
}

// requests are what a pod asks for, init containers, sidecars, overhead and
// pod-level resources included; scored is what it counts for in scores once it
// is on a node (framework/types.go CalculateResource), weighed while it is not
// (noderesources/resource_allocation.go calculatePodResourceRequest): pods that
// ask for nothing count for something.
func requests(pod *corev1.Pod) *need {
	list := podresources.PodRequests(pod, resourceOptions(nil))
	n := &need{asked: amountsOf(list)}
	n.others = n.asked.otherNames()
	n.scored, n.weighed = n.asked, n.asked
	pooled := podresources.IsPodLevelRequestsSet(pod)
	if n.asked.cpu != 0 && n.asked.memory != 0 && len(pod.Spec.Containers) == 1 && len(pod.Spec.InitContainers) == 0 && !pooled && pod.Spec.Overhead == nil {
		return n
	}
	missing := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(defaultMilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(defaultMemory, resource.DecimalSI),
	}
	// Requests of the pod as a whole do not count here: NewFit leaves the option out.
	n.weighed = amountsOf(podresources.PodRequests(pod, podresources.PodResourcesOptions{SkipPodLevelResources: true, NonMissingContainerRequests: missing}))
	for name := range list {
		if pooled {
			delete(missing, name)
		}
	}
	n.scored = amountsOf(podresources.PodRequests(pod, resourceOptions(missing)))
	return n
}

func resourceOptions(missing corev1.ResourceList) podresources.PodResourcesOptions {
	return podresources.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true, NonMissingContainerRequests: missing,
	}
}

// requests is the function of that name, remembered by template.
func (c *cluster) requests(pod *corev1.Pod) *need {
	if len(pod.Spec.Containers) == 0 || resized(pod) {
		return requests(pod)
	}
	key := &pod.Spec.Containers[0]
	known, ok := c.needs[key]
	if !ok {
		known = requests(pod)
		c.needs[key] = known
	}
	return known
}

// resized pods have resources in their status.
func resized(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Resources != nil || len(s.AllocatedResources) > 0 {
			return true
		}
	}
	return false
}

// asks is what a pod requests, in the words of a manifest.
func asks(pod *corev1.Pod) map[string]string {
	out := map[string]string{}
	for name, q := range podresources.PodRequests(pod, podresources.PodResourcesOptions{UseStatusResources: true}) {
		if !q.IsZero() {
			out[string(name)] = q.String()
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// hostPort is one port taken on a node. The any address stands for all.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

const anyAddress = "0.0.0.0"

func hostPorts(pod *corev1.Pod) []hostPort {
	var out []hostPort
	collect := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				out = append(out, normalPort(p))
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].RestartPolicy != nil {
			collect(&pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		collect(&pod.Spec.Containers[i])
	}
	return out
}

func normalPort(p corev1.ContainerPort) hostPort {
	out := hostPort{p.HostIP, p.Protocol, p.HostPort}
	if out.ip == "" {
		out.ip = anyAddress
	}
	if out.protocol == "" {
		out.protocol = corev1.ProtocolTCP
	}
	return out
}

// ports counts the users of each port of a node; under the empty address the
// users of any.
type ports map[hostPort]int

func (t ports) add(p hostPort, sign int) {
	for _, ip := range []string{p.ip, ""} {
		key := hostPort{ip, p.protocol, p.port}
		if t[key] += sign; t[key] == 0 {
			delete(t, key)
		}
	}
}

func (t ports) taken(p hostPort) bool {
	if p.ip == anyAddress {
		return t[hostPort{"", p.protocol, p.port}] > 0
	}
	return t[p] > 0 || t[hostPort{anyAddress, p.protocol, p.port}] > 0
}
