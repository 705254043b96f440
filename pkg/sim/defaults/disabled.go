package defaults

import corev1 "k8s.io/api/core/v1"

// Annotations of long-gone alpha and beta init containers, removed on every write.
var initContainerAnnotations = []string{
	"pod.beta.kubernetes.io/init-containers",
	"pod.alpha.kubernetes.io/init-containers",
	"pod.beta.kubernetes.io/init-container-statuses",
	"pod.alpha.kubernetes.io/init-container-statuses",
}

// dropDisabled clears the fields whose feature gates are off by default in
// 1.37: the API server does so before validating, so they can neither be wrong
// nor make two templates differ. Source: pkg/api/pod.DropDisabledTemplateFields.
func dropDisabled(spec *corev1.PodSpec) {
	spec.SchedulingGroup = nil
	spec.EvictionResponders = nil
	for i := range spec.Volumes {
		dropVolumeFields(&spec.Volumes[i].VolumeSource)
	}
	eachContainer(spec, dropContainerFields)
}

// dropAnnotations takes them off a pod or a template.
func dropAnnotations(annotations map[string]string) {
	for _, key := range initContainerAnnotations {
		delete(annotations, key)
	}
}

func dropContainerFields(c *corev1.Container) {
	for i := range c.VolumeMounts {
		c.VolumeMounts[i].BindMountOptions = nil
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil && p.HTTPGet != nil {
			p.HTTPGet.Protocol = nil
		}
		if p != nil && p.GRPC != nil {
			p.GRPC.Mode = nil
		}
	}
	if c.Lifecycle == nil {
		return
	}
	for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if h != nil && h.HTTPGet != nil {
			h.HTTPGet.Protocol = nil
		}
	}
	if c.Lifecycle.StopSignal != nil {
		c.Lifecycle.StopSignal = nil
		if *c.Lifecycle == (corev1.Lifecycle{}) {
			c.Lifecycle = nil
		}
	}
}

func dropVolumeFields(v *corev1.VolumeSource) {
	if v.EmptyDir != nil {
		v.EmptyDir.Mode = nil
	}
	switch { // of several sources, which is an error anyway, only the first
	case v.Secret != nil:
		v.Secret.DefaultUser = nil
		dropKeyUsers(v.Secret.Items)
	case v.ConfigMap != nil:
		v.ConfigMap.DefaultUser = nil
		dropKeyUsers(v.ConfigMap.Items)
	case v.DownwardAPI != nil:
		v.DownwardAPI.DefaultUser = nil
		dropFileUsers(v.DownwardAPI.Items)
	case v.Projected != nil:
		v.Projected.DefaultUser = nil
		for i := range v.Projected.Sources {
			dropProjectionUsers(&v.Projected.Sources[i])
		}
	}
}

func dropProjectionUsers(p *corev1.VolumeProjection) {
	switch {
	case p.Secret != nil:
		dropKeyUsers(p.Secret.Items)
	case p.DownwardAPI != nil:
		dropFileUsers(p.DownwardAPI.Items)
	case p.ConfigMap != nil:
		dropKeyUsers(p.ConfigMap.Items)
	case p.ServiceAccountToken != nil:
		p.ServiceAccountToken.User = nil
	case p.ClusterTrustBundle != nil:
		p.ClusterTrustBundle.User = nil
	case p.PodCertificate != nil:
		p.PodCertificate.User = nil
	}
}

func dropKeyUsers(items []corev1.KeyToPath) {
	for i := range items {
		items[i].User = nil
	}
}

func dropFileUsers(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		items[i].User = nil
	}
}
