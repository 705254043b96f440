package podsecurity

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func privilegeEscalation(s subject) *finding {
	if s.minor >= 25 && s.windows() {
		return nil
	}
	containers := s.which(func(c *corev1.Container) bool {
		return c.SecurityContext == nil || c.SecurityContext.AllowPrivilegeEscalation == nil || *c.SecurityContext.AllowPrivilegeEscalation
	})
	if len(containers) == 0 {
		return nil
	}
	return &finding{"allowPrivilegeEscalation != false", listed(containers) + " must set securityContext.allowPrivilegeEscalation=false"}
}

func restrictedCapabilities(s subject) *finding {
	if s.minor >= 25 && s.windows() {
		return nil
	}
	var details []string
	keeping := s.which(func(c *corev1.Container) bool {
		return c.SecurityContext == nil || c.SecurityContext.Capabilities == nil || !slices.Contains(c.SecurityContext.Capabilities.Drop, "ALL")
	})
	if len(keeping) > 0 {
		details = append(details, listed(keeping)+` must set securityContext.capabilities.drop=["ALL"]`)
	}
	if containers, added := s.adding(sets.New[corev1.Capability]("NET_BIND_SERVICE")); len(containers) > 0 {
		details = append(details, mustNotAdd(containers, added))
	}
	if len(details) == 0 {
		return nil
	}
	return &finding{"unrestricted capabilities", strings.Join(details, "; ")}
}

func runAsNonRoot(s subject) *finding {
	if s.ownUsers() {
		return nil
	}
	of := func(b *bool, is bool) bool { return b != nil && *b == is }
	pod := s.podContext().RunAsNonRoot
	roots := s.withContext(func(c *corev1.SecurityContext) bool { return of(c.RunAsNonRoot, false) })
	if who := setters(of(pod, false), roots); who != "" {
		return &finding{"runAsNonRoot != true", who + " must not set securityContext.runAsNonRoot=false"}
	}
	silent := s.which(func(c *corev1.Container) bool {
		return c.SecurityContext == nil || c.SecurityContext.RunAsNonRoot == nil
	})
	if of(pod, true) || len(silent) == 0 {
		return nil
	}
	return &finding{"runAsNonRoot != true", fmt.Sprintf("pod or %s must set securityContext.runAsNonRoot=true", listed(silent))}
}

func runAsUser(s subject) *finding {
	if s.ownUsers() {
		return nil
	}
	root := func(id *int64) bool { return id != nil && *id == 0 }
	containers := s.withContext(func(c *corev1.SecurityContext) bool { return root(c.RunAsUser) })
	who := setters(root(s.podContext().RunAsUser), containers)
	if who == "" {
		return nil
	}
	return &finding{"runAsUser=0", who + " must not set runAsUser=0"}
}

func volumes(s subject) *finding {
	var names []string
	types := sets.New[string]()
	for i := range s.spec.Volumes {
		if kind := restrictedVolume(&s.spec.Volumes[i]); kind != "" {
			names = append(names, s.spec.Volumes[i].Name)
			types.Insert(kind)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &finding{"restricted volume types", fmt.Sprintf("%s %s %s %s %s", number("volume", len(names)), quoted(names),
		use(len(names)), number("restricted volume type", len(types)), quoted(sets.List(types)))}
}

// restrictedVolume is the type of a volume that may not be used; empty for others.
func restrictedVolume(v *corev1.Volume) string {
	if v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil || v.Image != nil ||
		v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil {
		return ""
	}
	for _, kind := range []struct {
		is   bool
		name string
	}{
		{v.HostPath != nil, "hostPath"}, {v.GCEPersistentDisk != nil, "gcePersistentDisk"}, {v.AWSElasticBlockStore != nil, "awsElasticBlockStore"},
		{v.GitRepo != nil, "gitRepo"}, {v.NFS != nil, "nfs"}, {v.ISCSI != nil, "iscsi"}, {v.Glusterfs != nil, "glusterfs"}, {v.RBD != nil, "rbd"},
		{v.FlexVolume != nil, "flexVolume"}, {v.Cinder != nil, "cinder"}, {v.CephFS != nil, "cephfs"}, {v.Flocker != nil, "flocker"}, {v.FC != nil, "fc"},
		{v.AzureFile != nil, "azureFile"}, {v.VsphereVolume != nil, "vsphereVolume"}, {v.Quobyte != nil, "quobyte"}, {v.AzureDisk != nil, "azureDisk"},
		{v.PhotonPersistentDisk != nil, "photonPersistentDisk"}, {v.PortworxVolume != nil, "portworxVolume"}, {v.ScaleIO != nil, "scaleIO"}, {v.StorageOS != nil, "storageos"},
	} {
		if kind.is {
			return kind.name
		}
	}
	return "unknown"
}
