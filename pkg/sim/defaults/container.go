package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func container(c *corev1.Container) {
	if c.ImagePullPolicy == "" { // reading an image's name takes its time
		c.ImagePullPolicy = pullPolicy(c.Image)
	}
	orString(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orString(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		orString(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		envSource(c.Env[i].ValueFrom)
	}
	resources(&c.Resources)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		probe(p)
	}
	if c.Lifecycle != nil {
		hook(c.Lifecycle.PostStart)
		hook(c.Lifecycle.PreStop)
	}
}

func envSource(from *corev1.EnvVarSource) {
	if from == nil {
		return
	}
	fieldRef(from.FieldRef)
	if from.FileKeyRef != nil {
		orElse(&from.FileKeyRef.Optional, false)
	}
}

func fieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		orString(&ref.APIVersion, "v1")
	}
}

// probe treats zero as unset: a probe cannot ask for a threshold of zero.
func probe(p *corev1.Probe) {
	if p == nil {
		return
	}
	orSeconds(&p.TimeoutSeconds, 1)
	orSeconds(&p.PeriodSeconds, 10)
	orSeconds(&p.SuccessThreshold, 1)
	orSeconds(&p.FailureThreshold, 3)
	httpGet(p.HTTPGet)
	if p.GRPC != nil {
		orElse(&p.GRPC.Service, "")
	}
}

func hook(h *corev1.LifecycleHandler) {
	if h != nil {
		httpGet(h.HTTPGet)
	}
}

func httpGet(get *corev1.HTTPGetAction) {
	if get != nil {
		orString(&get.Path, "/")
		orString(&get.Scheme, corev1.URISchemeHTTP)
	}
}

func orSeconds(n *int32, value int32) {
	if *n == 0 {
		*n = value
	}
}

func resources(r *corev1.ResourceRequirements) {
	milli(r.Limits)
	milli(r.Requests)
}

// milli rounds every quantity up to thousandths, the finest the API stores.
func milli(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(resource.Milli)
		list[name] = quantity
	}
}

// requestsFromLimits asks for what is limited where nothing else is asked for.
// Limits that are present but empty still make the requests present.
func requestsFromLimits(r *corev1.ResourceRequirements) {
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	for name, limit := range r.Limits {
		if _, asked := r.Requests[name]; !asked {
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

func hostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}
