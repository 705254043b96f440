package sim

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

// fillLoaded defaults an object that was stored before. What a server wrote
// lacks nothing, and then a pod goes on pointing to what it was given, which
// thousands of others may point to as well.
func (t *templates) fillLoaded(obj Object) {
	pod, ok := obj.(*corev1.Pod)
	switch {
	case !ok:
		t.fill(obj)
		return
	case t.complete != nil && alikeInMemory(&pod.Spec, t.complete):
		defaults.BesideSpec(pod)
		return
	}
	given := pod.Spec
	pod.Spec = *given.DeepCopy()
	defaults.Pod(pod)
	if reflect.DeepEqual(given, pod.Spec) {
		pod.Spec, t.complete = given, &given
	}
}

// alikeInMemory says that two specs have the same values and point to the same
// ones, but for what tells pods of one template apart and has no defaults: the
// node, and the names of volumes, as those of service account tokens. Then one
// lacks what the other lacks.
func alikeInMemory(a, b *corev1.PodSpec) bool {
	x, y := *a, *b
	if !slices.EqualFunc(x.Containers, y.Containers, containersAlike) || !slices.EqualFunc(x.InitContainers, y.InitContainers, containersAlike) ||
		!slices.EqualFunc(x.Volumes, y.Volumes, func(v, w corev1.Volume) bool { return v.VolumeSource == w.VolumeSource }) {
		return false
	}
	for _, spec := range []*corev1.PodSpec{&x, &y} {
		spec.NodeName, spec.Containers, spec.InitContainers, spec.Volumes = "", nil, nil, nil
	}
	return sameMemory(reflect.ValueOf(&x).Elem(), reflect.ValueOf(&y).Elem())
}

func containersAlike(a, b corev1.Container) bool {
	for _, mounts := range [][]corev1.VolumeMount{a.VolumeMounts, b.VolumeMounts} {
		if slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.BindMountOptions != nil }) {
			return false
		}
	}
	a.VolumeMounts, b.VolumeMounts = nil, nil
	return sameMemory(reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem())
}

// sameMemory compares values of one type; what they point to must be the same
// thing in memory.
func sameMemory(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !sameMemory(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		return a.Len() == b.Len() && a.UnsafePointer() == b.UnsafePointer()
	case reflect.Map:
		return a.UnsafePointer() == b.UnsafePointer()
	}
	return a.Equal(b)
}
