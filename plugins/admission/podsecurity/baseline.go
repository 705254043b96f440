package podsecurity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func appArmor(s subject) *finding {
	bad := sets.New[string]()
	forbidden := func(p *corev1.AppArmorProfile) bool {
		if p == nil || p.Type == corev1.AppArmorProfileTypeRuntimeDefault || p.Type == corev1.AppArmorProfileTypeLocalhost {
			return false
		}
		bad.Insert(string(p.Type))
		return true
	}
	pod := forbidden(s.podContext().AppArmorProfile)
	containers := s.withContext(func(c *corev1.SecurityContext) bool { return forbidden(c.AppArmorProfile) })
	who, values := setters(pod, containers), sets.List(bad)
	if annotations := badAppArmorAnnotations(s.meta.Annotations); len(annotations) > 0 {
		values = append(values, annotations...)
		if who != "" {
			who += " and "
		}
		who += number("annotation", len(annotations))
	}
	if who == "" {
		return nil
	}
	return &finding{number("forbidden AppArmor profile", len(values)), fmt.Sprintf("%s must not set AppArmor profile type to %s", who, quoted(values))}
}

func badAppArmorAnnotations(annotations map[string]string) (bad []string) {
	for k, v := range annotations {
		if strings.HasPrefix(k, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && v != "" &&
			v != corev1.DeprecatedAppArmorBetaProfileRuntimeDefault && !strings.HasPrefix(v, corev1.DeprecatedAppArmorBetaProfileNamePrefix) {
			bad = append(bad, fmt.Sprintf("%s=%q", k, v))
		}
	}
	slices.Sort(bad)
	return bad
}

// defaultCapabilities are those that container runtimes give without being asked.
var defaultCapabilities = sets.New[corev1.Capability]("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
	"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")

func baselineCapabilities(s subject) *finding {
	containers, added := s.adding(defaultCapabilities)
	if len(containers) == 0 {
		return nil
	}
	return &finding{"non-default capabilities", mustNotAdd(containers, added)}
}

// adding names the containers that add capabilities beyond those allowed, and these.
func (s subject) adding(allowed sets.Set[corev1.Capability]) (containers, added []string) {
	all := sets.New[string]()
	containers = s.withContext(func(c *corev1.SecurityContext) bool {
		if c.Capabilities == nil {
			return false
		}
		bad := false
		for _, capability := range c.Capabilities.Add {
			if !allowed.Has(capability) {
				bad = true
				all.Insert(string(capability))
			}
		}
		return bad
	})
	return containers, sets.List(all)
}

func mustNotAdd(containers, added []string) string {
	return fmt.Sprintf("%s must not include %s in securityContext.capabilities.add", listed(containers), quoted(added))
}

func hostNamespaces(s subject) *finding {
	var shared []string
	for _, n := range []struct {
		set  bool
		name string
	}{{s.spec.HostNetwork, "hostNetwork=true"}, {s.spec.HostPID, "hostPID=true"}, {s.spec.HostIPC, "hostIPC=true"}} {
		if n.set {
			shared = append(shared, n.name)
		}
	}
	if len(shared) == 0 {
		return nil
	}
	return &finding{"host namespaces", strings.Join(shared, ", ")}
}

func hostPaths(s subject) *finding {
	var names []string
	for i := range s.spec.Volumes {
		if s.spec.Volumes[i].HostPath != nil {
			names = append(names, s.spec.Volumes[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &finding{"hostPath volumes", number("volume", len(names)) + " " + quoted(names)}
}

func hostPorts(s subject) *finding {
	ports := sets.New[string]()
	containers := s.which(func(c *corev1.Container) bool {
		bad := false
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				bad = true
				ports.Insert(strconv.Itoa(int(p.HostPort)))
			}
		}
		return bad
	})
	if len(containers) == 0 {
		return nil
	}
	return &finding{"hostPort", fmt.Sprintf("%s %s %s %s", listed(containers), use(len(containers)), number("hostPort", len(ports)), strings.Join(sets.List(ports), ", "))}
}

func probeHosts(s subject) *finding {
	names, hosts := sets.New[string](), sets.New[string]()
	s.each(func(c *corev1.Container) {
		for _, host := range hostsOf(c) {
			names.Insert(c.Name)
			hosts.Insert(host)
		}
	})
	if len(names) == 0 {
		return nil
	}
	return &finding{"probe or lifecycle host", fmt.Sprintf("%s %s %s %s", listed(sets.List(names)), use(len(names)), number("probe or lifecycle host", len(hosts)), quoted(sets.List(hosts)))}
}

// hostsOf are the hosts that a container's probes and hooks name.
func hostsOf(c *corev1.Container) (hosts []string) {
	add := func(get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction) {
		if get != nil && get.Host != "" {
			hosts = append(hosts, get.Host)
		}
		if socket != nil && socket.Host != "" {
			hosts = append(hosts, socket.Host)
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil {
			add(p.HTTPGet, p.TCPSocket)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				add(h.HTTPGet, h.TCPSocket)
			}
		}
	}
	return hosts
}

func privileged(s subject) *finding {
	containers := s.withContext(func(c *corev1.SecurityContext) bool { return c.Privileged != nil && *c.Privileged })
	if len(containers) == 0 {
		return nil
	}
	return &finding{"privileged", listed(containers) + " must not set securityContext.privileged=true"}
}

func baselineProcMount(s subject) *finding {
	if s.ownUsers() {
		return nil
	}
	return procMount(s)
}

func procMount(s subject) *finding {
	types := sets.New[string]()
	containers := s.withContext(func(c *corev1.SecurityContext) bool {
		if c.ProcMount == nil || *c.ProcMount == corev1.DefaultProcMount {
			return false
		}
		types.Insert(string(*c.ProcMount))
		return true
	})
	if len(containers) == 0 {
		return nil
	}
	return &finding{"procMount", fmt.Sprintf("%s must not set securityContext.procMount to %s", listed(containers), quoted(sets.List(types)))}
}

func seLinux(s subject) *finding {
	types, user, role := sets.New[string](), false, false
	forbidden := func(o *corev1.SELinuxOptions) bool {
		if o == nil {
			return false
		}
		allowed := o.Type == "" || o.Type == "container_t" || o.Type == "container_init_t" || o.Type == "container_kvm_t" || s.minor >= 31 && o.Type == "container_engine_t"
		if !allowed {
			types.Insert(o.Type)
		}
		user, role = user || o.User != "", role || o.Role != ""
		return !allowed || o.User != "" || o.Role != ""
	}
	pod := forbidden(s.podContext().SELinuxOptions)
	containers := s.withContext(func(c *corev1.SecurityContext) bool { return forbidden(c.SELinuxOptions) })
	who := setters(pod, containers)
	if who == "" {
		return nil
	}
	var what []string
	if len(types) > 0 {
		what = append(what, number("type", len(types))+" "+quoted(sets.List(types)))
	}
	if user {
		what = append(what, "user may not be set")
	}
	if role {
		what = append(what, "role may not be set")
	}
	return &finding{"seLinuxOptions", fmt.Sprintf("%s set forbidden securityContext.seLinuxOptions: %s", who, strings.Join(what, "; "))}
}

// safeSysctls are the sysctls that pods may set, with the minor version from which on.
var safeSysctls = map[string]int{
	"kernel.shm_rmid_forced": 0, "net.ipv4.ip_local_port_range": 0, "net.ipv4.tcp_syncookies": 0,
	"net.ipv4.ping_group_range": 0, "net.ipv4.ip_unprivileged_port_start": 0,
	"net.ipv4.ip_local_reserved_ports": 27,
	"net.ipv4.tcp_keepalive_time":      29, "net.ipv4.tcp_fin_timeout": 29, "net.ipv4.tcp_keepalive_intvl": 29, "net.ipv4.tcp_keepalive_probes": 29,
	"net.ipv4.tcp_rmem": 32, "net.ipv4.tcp_wmem": 32,
	"net.ipv4.tcp_slow_start_after_idle": 37, "net.ipv4.tcp_notsent_lowat": 37,
}

func sysctls(s subject) *finding {
	var bad []string
	for _, sysctl := range s.podContext().Sysctls {
		if since, safe := safeSysctls[sysctl.Name]; !safe || s.minor < since {
			bad = append(bad, sysctl.Name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &finding{"forbidden sysctls", strings.Join(bad, ", ")}
}

func hostProcess(s subject) *finding {
	set := func(o *corev1.WindowsSecurityContextOptions) bool {
		return o != nil && o.HostProcess != nil && *o.HostProcess
	}
	containers := s.withContext(func(c *corev1.SecurityContext) bool { return set(c.WindowsOptions) })
	who := setters(set(s.podContext().WindowsOptions), containers)
	if who == "" {
		return nil
	}
	return &finding{"hostProcess", who + " must not set securityContext.windowsOptions.hostProcess=true"}
}
