package admission

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type draw struct{ *rand.Rand }

func (r draw) chance(percent int) bool { return r.IntN(100) < percent }

func pick[T any](r draw, from ...T) T { return from[r.IntN(len(from))] }

// maybe is something or nothing.
func maybe[T any](r draw, percent int, from ...T) *T {
	if !r.chance(percent) {
		return nil
	}
	out := pick(r, from...)
	return &out
}

var names = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, "example.com/gpu", "hugepages-2Mi"}

// amounts are few, so that sums meet bounds; some are in odd units.
var amounts = map[corev1.ResourceName][]string{
	corev1.ResourceCPU:              {"0", "100m", "0.25", "500m", "1", "1000m", "2", "9000P"},
	corev1.ResourceMemory:           {"0", "64Mi", "100M", "128Mi", "1Gi", "1.5Gi", "1024Mi"},
	corev1.ResourceEphemeralStorage: {"0", "1Gi", "1G", "2Gi"},
	"example.com/gpu":               {"0", "1", "2"},
	"hugepages-2Mi":                 {"2Mi", "4Mi"},
}

func (r draw) amount(name corev1.ResourceName) resource.Quantity {
	return resource.MustParse(pick(r, amounts[name]...))
}

// list has some of the resources.
func (r draw) list(percent int, of ...corev1.ResourceName) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range of {
		if r.chance(percent) {
			out[name] = r.amount(name)
		}
	}
	return out
}

// resources has requests within limits, as a server asks for.
func (r draw) resources() corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Requests: r.list(40, names[:3]...), Limits: r.list(40, names[:3]...)}
	for name, limit := range out.Limits {
		if request := out.Requests[name]; request.Cmp(limit) > 0 {
			out.Requests[name] = limit
		}
	}
	for _, name := range names[3:] {
		if r.chance(15) {
			q := r.amount(name)
			out.Requests[name], out.Limits[name] = q, q
		}
	}
	return out
}

func (r draw) containers(prefix string, least, most int) (out []corev1.Container) {
	for i := range least + r.IntN(most-least+1) {
		out = append(out, corev1.Container{
			Name: fmt.Sprintf("%s%d", prefix, i), Image: "a", Resources: r.resources(),
			TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullAlways,
		})
	}
	return out
}

// pod asks for resources.
func (r draw) pod(name string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       corev1.PodSpec{Containers: r.containers("app", 1, 2), InitContainers: r.containers("init", 0, 2)},
	}
	always := corev1.ContainerRestartPolicyAlways
	for i := range pod.Spec.InitContainers {
		if r.chance(30) {
			pod.Spec.InitContainers[i].RestartPolicy = &always
		}
	}
	pod.Spec.ActiveDeadlineSeconds = maybe[int64](r, 20, 60)
	pod.Spec.PriorityClassName = pick(r, "", "", "high", "low")
	if r.chance(15) {
		term := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}
		if r.chance(60) {
			term.Namespaces = []string{"other"}
		}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
	if r.chance(15) {
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: r.list(60, names[:2]...)}
	}
	return pod
}

// insecure sets what Pod Security looks at.
func (r draw) insecure(pod *corev1.Pod) {
	s := &pod.Spec
	s.HostNetwork, s.HostPID, s.HostIPC = r.chance(8), r.chance(8), r.chance(8)
	s.HostUsers = maybe(r, 20, true, false)
	if s.HostNetwork || s.HostPID || s.HostIPC {
		s.HostUsers = nil // the server wants it so
	}
	if r.chance(60) {
		s.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: maybe(r, 60, true, false), RunAsUser: maybe[int64](r, 20, 0, 1000), SeccompProfile: r.seccomp(), SELinuxOptions: r.seLinux(),
		}
		if r.chance(15) {
			s.SecurityContext.Sysctls = []corev1.Sysctl{{Name: pick(r, "kernel.msgmax", "net.ipv4.tcp_syncookies", "net.ipv4.ip_local_port_range"), Value: "1"}}
		}
	}
	for i := range s.InitContainers {
		r.exposed(&s.InitContainers[i])
	}
	for i := range s.Containers {
		r.exposed(&s.Containers[i])
	}
	if r.chance(20) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "v", VolumeSource: pick(r,
			corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}},
			corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}})})
	}
	if r.chance(8) {
		pod.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/app0": pick(r, "unconfined", "runtime/default")}
	}
}

// exposed is one container's part of it.
func (r draw) exposed(c *corev1.Container) {
	if r.chance(10) {
		c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: pick[int32](r, 0, 80), Protocol: corev1.ProtocolTCP}}
	}
	if r.chance(20) {
		probe := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80), Host: pick(r, "", "127.0.0.1", "example.com")}}
		if c.RestartPolicy != nil || c.Name[0] == 'a' {
			c.LivenessProbe = &corev1.Probe{ProbeHandler: probe, TimeoutSeconds: 1, PeriodSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1}
		}
	}
	if !r.chance(75) {
		return
	}
	c.SecurityContext = &corev1.SecurityContext{
		Privileged: maybe(r, 12, true, false), AllowPrivilegeEscalation: maybe(r, 70, false, false, false, true), RunAsNonRoot: maybe(r, 50, true, true, false),
		RunAsUser: maybe[int64](r, 15, 0, 1000), SeccompProfile: r.seccomp(), SELinuxOptions: r.seLinux(),
		ProcMount: maybe(r, 6, corev1.DefaultProcMount),
	}
	if c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged {
		c.SecurityContext.AllowPrivilegeEscalation = nil // the server wants it so
	}
	if r.chance(60) {
		c.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{pick[corev1.Capability](r, "ALL", "ALL", "CHOWN")}}
		if r.chance(40) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{pick[corev1.Capability](r, "NET_BIND_SERVICE", "CHOWN", "SYS_ADMIN", "NET_RAW")}
		}
	}
}

func (r draw) seccomp() *corev1.SeccompProfile {
	if !r.chance(50) {
		return nil
	}
	return &corev1.SeccompProfile{Type: pick(r, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)}
}

func (r draw) seLinux() *corev1.SELinuxOptions {
	if !r.chance(12) {
		return nil
	}
	return &corev1.SELinuxOptions{Type: pick(r, "", "container_t", "spc_t"), User: pick(r, "", "", "u"), Role: pick(r, "", "", "r")}
}
