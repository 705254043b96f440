package live

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fewVolumes is up to how many volumes are asked for one by one.
const fewVolumes = 10

// HasClaims says whether the pods of a template use persistent volume claims.
func HasClaims(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// claiming says whether it matters to the plan where volumes are: pods of the
// workloads use claims, and the nodes from which these are reached are known.
// Nodes that are made up are in no zone that a volume could be of.
func (r *reader) claiming() bool {
	if !r.s.NodesKnown() {
		return false
	}
	return r.Claims ||
		slices.ContainsFunc(r.s.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return HasClaims(&rs.Spec.Template.Spec) }) ||
		slices.ContainsFunc(r.s.Deployments, func(d *appsv1.Deployment) bool { return HasClaims(&d.Spec.Template.Spec) })
}

// readClaims reads the claims of the namespaces, and the classes of those that
// have no volume yet.
func (r *reader) readClaims(t *tasks) {
	for _, ns := range r.namespaces {
		load(r, t, claims, &r.s.Claims, r.core.PersistentVolumeClaims(ns).List,
			func(l *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return l.Items }, metav1.ListOptions{}, bare)
	}
	load(r, t, storageClasses, &r.s.StorageClasses, r.storage.StorageClasses().List,
		func(l *storagev1.StorageClassList) []storagev1.StorageClass { return l.Items }, metav1.ListOptions{}, bareStorageClass)
}

// readVolumes reads the volumes behind the claims: those that they are bound
// to, or all where a claim still looks for one.
func (r *reader) readVolumes(t *tasks) {
	var bound []string
	all := false
	for _, claim := range r.s.Claims {
		switch name := claim.Spec.VolumeName; {
		case name == "":
			all = true
		case !slices.Contains(bound, name):
			bound = append(bound, name)
		}
	}
	if all || len(bound) > fewVolumes {
		load(r, t, persistentVolumes, &r.s.Volumes, r.core.PersistentVolumes().List,
			func(l *corev1.PersistentVolumeList) []corev1.PersistentVolume { return l.Items }, metav1.ListOptions{}, bareVolume)
		return
	}
	for _, name := range bound {
		t.run(func(ctx context.Context) error {
			volume, err := r.core.PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
			return r.store(persistentVolumes, 1, err, func() { r.s.Volumes = append(r.s.Volumes, bareVolume(volume)) })
		})
	}
}

// bareVolume is a volume cut down to where it is reached and by whom at once:
// what it is made of says nothing about a rollout, and may be secret.
func bareVolume(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{
		Name: pv.Name, UID: pv.UID, ResourceVersion: pv.ResourceVersion, CreationTimestamp: pv.CreationTimestamp, DeletionTimestamp: pv.DeletionTimestamp,
		Labels: pv.Labels, Finalizers: pv.Finalizers,
	}}
	out.Spec = corev1.PersistentVolumeSpec{
		Capacity: pv.Spec.Capacity, AccessModes: pv.Spec.AccessModes, ClaimRef: pv.Spec.ClaimRef, StorageClassName: pv.Spec.StorageClassName,
		VolumeMode: pv.Spec.VolumeMode, NodeAffinity: pv.Spec.NodeAffinity,
	}
	out.Status.Phase = pv.Status.Phase
	from, to := &pv.Spec.PersistentVolumeSource, &out.Spec.PersistentVolumeSource
	switch {
	case from.CSI != nil:
		// The name stands for the handle, which names the disk: equal ones are of one volume.
		to.CSI = &corev1.CSIPersistentVolumeSource{Driver: from.CSI.Driver, VolumeHandle: pv.Name}
	case from.GCEPersistentDisk != nil:
		to.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: pv.Name}
	case from.AWSElasticBlockStore != nil:
		to.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: pv.Name}
	case from.AzureDisk != nil:
		to.AzureDisk = &corev1.AzureDiskVolumeSource{DiskName: pv.Name}
	case from.Cinder != nil:
		to.Cinder = &corev1.CinderPersistentVolumeSource{VolumeID: pv.Name}
	case from.VsphereVolume != nil:
		to.VsphereVolume = &corev1.VsphereVirtualDiskVolumeSource{VolumePath: pv.Name}
	case from.FC != nil:
		to.FC = &corev1.FCVolumeSource{WWIDs: []string{pv.Name}}
	case from.ISCSI != nil:
		to.ISCSI = &corev1.ISCSIPersistentVolumeSource{IQN: pv.Name}
	}
	return out
}

// bareStorageClass is a class without its driver's parameters.
func bareStorageClass(class *storagev1.StorageClass) *storagev1.StorageClass {
	out := bare(class)
	out.Parameters = nil
	return out
}

// addMissingVolumes makes up the volumes of bound claims where volumes cannot be
// read: reached from every node, since nobody knows better.
func (s *Snapshot) addMissingVolumes() {
	if !s.denied[persistentVolumes] {
		return
	}
	for _, claim := range s.Claims {
		name := claim.Spec.VolumeName
		if name == "" || slices.ContainsFunc(s.Volumes, func(pv *corev1.PersistentVolume) bool { return pv.Name == name }) {
			continue
		}
		pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pv.Spec.AccessModes, pv.Spec.VolumeMode, pv.Spec.Capacity = claim.Spec.AccessModes, claim.Spec.VolumeMode, claim.Status.Capacity
		pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		pv.Status.Phase = corev1.VolumeBound
		if claim.Spec.StorageClassName != nil {
			pv.Spec.StorageClassName = *claim.Spec.StorageClassName
		}
		s.Volumes = append(s.Volumes, pv)
	}
}

// readNamespaceItself reads what a namespace's object says: which pods Pod
// Security lets in, and whether it is being deleted.
func (r *reader) readNamespaceItself(ctx context.Context, name string) error {
	ns, err := r.core.Namespaces().Get(ctx, name, metav1.GetOptions{})
	return r.store(namespaces, 1, err, func() { r.s.Namespaces = append(r.s.Namespaces, bareNamespace(ns)) })
}

// bareNamespace is a namespace without its annotations.
func bareNamespace(ns *corev1.Namespace) *corev1.Namespace {
	out := bare(ns)
	out.Annotations = nil
	return out
}
