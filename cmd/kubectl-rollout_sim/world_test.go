package main

import (
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

func init() {
	// secured lets no pod in that runs as root.
	clusters["secured"] = func(s *livetest.Server) {
		s.Objects = append(s.Objects, team(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}))
	}
	// unlabelled is secured, to a user who may not read namespaces.
	clusters["unlabelled"] = func(s *livetest.Server) {
		clusters["secured"](s)
		s.Allowed = func(_, resource, _ string) bool { return resource != "namespaces" }
	}
	// terminating is one whose namespace is being deleted.
	clusters["terminating"] = func(s *livetest.Server) {
		ns := team(nil)
		ns.DeletionTimestamp, ns.Status.Phase = &metav1.Time{Time: noon.Add(-time.Second)}, corev1.NamespaceTerminating
		s.Objects = append(s.Objects, ns)
	}
	// zoned keeps the data of deployment/web on a disk in zone a, of whose nodes none takes pods any more.
	clusters["zoned"] = zoned
	// diskless is zoned, to a user who may not read volumes.
	clusters["diskless"] = func(s *livetest.Server) {
		zoned(s)
		s.Allowed = func(_, resource, _ string) bool { return resource != "persistentvolumes" }
	}
}

func team(labels map[string]string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: labels, Annotations: map[string]string{"owner": "hunter2"}}}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return ns
}

func zoned(s *livetest.Server) {
	data := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	for _, obj := range s.Objects {
		switch o := obj.(type) {
		case *corev1.Node:
			o.Labels[corev1.LabelTopologyZone] = "b"
			if slices.Contains([]string{livetest.NodeName(0), livetest.NodeName(1), livetest.NodeName(2)}, o.Name) {
				o.Labels[corev1.LabelTopologyZone], o.Spec.Unschedulable = "a", true
				o.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
			}
		case *appsv1.Deployment:
			if o.Name == "web" {
				o.Spec.Template.Spec.Volumes = []corev1.Volume{data}
			}
		case *appsv1.ReplicaSet:
			if o.Name == "web-6d" {
				o.Spec.Template.Spec.Volumes = []corev1.Volume{data}
			}
		case *corev1.Pod:
			if o.Labels["app"] == "web" {
				o.Spec.Volumes = []corev1.Volume{data}
			}
		}
	}
	many := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "disk-1", AccessModes: many}}
	disk := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1"}, Spec: corev1.PersistentVolumeSpec{AccessModes: many,
		PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "hunter2", Path: "/"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}}}}}}}
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	disk.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolume"))
	s.Objects = append(s.Objects, claim, disk)
}

// serve starts an API server that has the objects of files, the later of two
// with one name, and points KUBECONFIG at it: serve FILE….
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve FILE…")
	}
	server := &livetest.Server{Now: func() time.Time { return noon.Add(time.Minute) }}
	for i := range args {
		args[i] = ts.MkAbs(args[i])
	}
	set, err := manifest.Reader{Mode: manifest.Lenient, Events: true}.Read(args...)
	ts.Check(err)
	for _, item := range set.Latest().Items {
		server.Objects = append(server.Objects, item.Object)
	}
	server.Start()
	ts.Defer(server.Close)
	path, err := server.Kubeconfig(ts.MkAbs("."), "team")
	ts.Check(err)
	ts.Setenv("KUBECONFIG", path)
	running.Store(ts, server)
	ts.Defer(func() { running.Delete(ts) })
}
