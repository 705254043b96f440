package live

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// disks are a rollout whose pods share a claim that is bound to a disk of one
// zone, a claim that waits for its first pod, and the namespace they are in.
func disks() []k8sruntime.Object {
	objs := append(team(2), livetest.Nodes(2, "4")...)
	use := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	for _, obj := range objs {
		if d, ok := obj.(*appsv1.Deployment); ok {
			d.Spec.Template.Spec.Volumes = []corev1.Volume{use}
		}
	}
	once, class := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, "fast"
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data", Annotations: map[string]string{"note": "hunter2"}},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "disk-1", AccessModes: once, StorageClassName: &class}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1", Labels: map[string]string{corev1.LabelTopologyZone: "zone-a"}},
		Spec: corev1.PersistentVolumeSpec{AccessModes: once, StorageClassName: class, PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-hunter2", VolumeAttributes: map[string]string{"key": "hunter2"}}}}}
	sc := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "ebs.csi.aws.com", Parameters: map[string]string{"secret": "hunter2"}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}}}
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	pv.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolume"))
	sc.SetGroupVersionKind(storagev1.SchemeGroupVersion.WithKind("StorageClass"))
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return append(objs, claim, pv, sc, ns)
}

// volumeRequests are those about volumes and the namespace.
func volumeRequests(s *livetest.Server) (out []string) {
	for _, r := range s.Requests() {
		if strings.Contains(r, "persistentvolume") || strings.Contains(r, "storageclass") || strings.HasSuffix(r, "/namespaces/team") {
			out = append(out, r)
		}
	}
	return out
}

// Volumes are read where the template has claims, by name where all are bound.
func TestVolumes(t *testing.T) {
	server := &livetest.Server{Objects: disks()}
	s := read(t, connect(t, server), Query{Workloads: []trace.Ref{web}})
	if len(s.Claims) != 1 || len(s.Volumes) != 1 || len(s.StorageClasses) != 1 || len(s.Namespaces) != 1 || len(s.Warnings()) != 0 {
		t.Errorf("read %d claims, %d volumes, %d classes, %d namespaces with warnings %q", len(s.Claims), len(s.Volumes), len(s.StorageClasses), len(s.Namespaces), s.Warnings())
	}
	want := []string{
		"GET /api/v1/namespaces/team",
		"GET /api/v1/namespaces/team/persistentvolumeclaims?limit=500",
		"GET /api/v1/persistentvolumes/disk-1",
		"GET /apis/storage.k8s.io/v1/storageclasses?limit=500",
	}
	if got := volumeRequests(server); !slices.Equal(got, want) {
		t.Errorf("requests:\n%s", strings.Join(got, "\n"))
	}
	if pv := s.Volumes[0]; pv.Labels[corev1.LabelTopologyZone] != "zone-a" || pv.Spec.CSI == nil || pv.Spec.CSI.Driver != "ebs.csi.aws.com" {
		t.Errorf("the volume is cut down too far: %+v", pv)
	}
	var dump bytes.Buffer
	if err := s.Dump(&dump, DumpOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(dump.String(), "hunter2") {
		t.Error("the dump holds what should not be in it")
	}
}

// A claim that looks for a volume may find any.
func TestVolumesOfUnboundClaims(t *testing.T) {
	objs := disks()
	for _, obj := range objs {
		if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			claim.Spec.VolumeName = ""
		}
	}
	server := &livetest.Server{Objects: objs}
	read(t, connect(t, server), Query{Workloads: []trace.Ref{web}})
	if got := volumeRequests(server); !slices.Contains(got, "GET /api/v1/persistentvolumes?limit=500") {
		t.Errorf("requests:\n%s", strings.Join(got, "\n"))
	}
}

// Without claims in the template, or without nodes, volumes are no matter; a
// manifest may bring claims.
func TestVolumesThatDoNotMatter(t *testing.T) {
	plain := slices.Concat(team(2), livetest.Nodes(2, "4"))
	for name, c := range map[string]struct {
		server *livetest.Server
		query  Query
		asks   int
	}{
		"no claims":        {&livetest.Server{Objects: plain}, Query{}, 1},
		"no nodes":         {&livetest.Server{Objects: disks(), Allowed: inTeam}, Query{}, 1},
		"made-up nodes":    {&livetest.Server{Objects: disks()}, Query{NoNodes: true}, 1},
		"a claim to be":    {&livetest.Server{Objects: plain}, Query{Claims: true}, 3},
		"drained, unknown": {&livetest.Server{Objects: plain, Allowed: inTeam}, Query{Evictions: true}, 1},
	} {
		c.query.Workloads = []trace.Ref{web}
		s := read(t, connect(t, c.server), c.query)
		if got := volumeRequests(c.server); len(got) != c.asks {
			t.Errorf("%s: requests:\n%s", name, strings.Join(got, "\n"))
		}
		budgets := slices.ContainsFunc(c.server.Requests(), func(r string) bool { return strings.Contains(r, "poddisruptionbudgets") })
		if want := c.query.Evictions || s.NodesKnown() || c.query.NoNodes; budgets != want {
			t.Errorf("%s: disruption budgets read: %v", name, budgets)
		}
	}
}

// Each kind alone may be forbidden, with one line; volumes are then made up.
func TestForbiddenVolumes(t *testing.T) {
	for _, denied := range []string{"persistentvolumeclaims", "persistentvolumes", "storageclasses"} {
		server := &livetest.Server{Objects: disks(), Allowed: func(_, resource, _ string) bool { return resource != denied }}
		s := read(t, connect(t, server), Query{Workloads: []trace.Ref{web}})
		want := []string{"cannot list " + denied + ": volumes are taken to be reached from every node"}
		if got := s.Warnings(); !slices.Equal(got, want) {
			t.Errorf("%s: warnings %q", denied, got)
		}
		if made := len(s.Volumes) == 1 && s.Volumes[0].Labels == nil; made != (denied == "persistentvolumes") {
			t.Errorf("%s: volumes %+v", denied, s.Volumes)
		}
	}
}
