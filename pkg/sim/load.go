package sim

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

// fillLoaded defaults an object that was stored before. What a server wrote
// lacks nothing, and then a pod goes on pointing to what it was given, which
// thousands of others may point to as well.
func (t *templates) fillLoaded(obj Object) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		t.fill(obj)
		return
	}
	like := likenessOf(&pod.Spec)
	if known := t.complete[like]; known != nil && alikeInMemory(&pod.Spec, known) {
		defaults.BesideSpec(pod)
		return
	}
	given := pod.Spec
	pod.Spec = *given.DeepCopy()
	defaults.Pod(pod)
	if !reflect.DeepEqual(given, pod.Spec) {
		return
	}
	if t.complete == nil || len(t.complete) == mostComplete {
		t.complete = map[likeness]*corev1.PodSpec{}
	}
	pod.Spec, t.complete[like] = given, &given
}

// mostComplete is how many specs that lack nothing are remembered.
const mostComplete = 4096

// likeness is what specs of one template have in common and most others have not.
type likeness struct {
	image, account string
	env            *corev1.EnvVar
	security       *corev1.PodSecurityContext
}

func likenessOf(spec *corev1.PodSpec) likeness {
	out := likeness{account: spec.ServiceAccountName, security: spec.SecurityContext}
	if len(spec.Containers) > 0 {
		first := &spec.Containers[0]
		if out.image = first.Image; len(first.Env) > 0 {
			out.env = &first.Env[0]
		}
	}
	return out
}

// deliverAll delivers what was there when a watch began, one object after the
// other. Each could be a call of the loop, and nothing else would happen in
// between: calls made for this moment come after those made before.
func (w *watch) deliverAll(objs []Object, numbers *numbers) {
	if w.table != nil {
		w.table.expect(len(objs))
	}
	for _, obj := range objs {
		w.actor.world.cause = 0
		w.deliver(engine.Added, numbers.of(obj), obj)
	}
}

// expect makes room for objects that are to come.
func (t *table) expect(n int) {
	t.entries = slices.Grow(t.entries, n)
}

// alikeInMemory says that two specs have the same values and point to the same
// ones, but for what tells pods of one template apart and has no defaults: the
// node, and the names of volumes, as those of service account tokens. Then one
// lacks what the other lacks.
func alikeInMemory(a, b *corev1.PodSpec) bool {
	return containersAlike(a.Containers, b.Containers) && containersAlike(a.InitContainers, b.InitContainers) &&
		slices.EqualFunc(a.Volumes, b.Volumes, func(v, w corev1.Volume) bool { return v.VolumeSource == w.VolumeSource }) &&
		specFields.same(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func containersAlike(a, b []corev1.Container) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if bound(&a[i]) || bound(&b[i]) || !containerFields.same(reflect.ValueOf(&a[i]).Elem(), reflect.ValueOf(&b[i]).Elem()) {
			return false
		}
	}
	return true
}

// bound says that one of a container's mounts has options, which may lack something.
func bound(c *corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.BindMountOptions != nil })
}

// fields are some of a struct's, by their places.
type fields []int

var (
	specFields      = fieldsBut[corev1.PodSpec]("NodeName", "Containers", "InitContainers", "Volumes")
	containerFields = fieldsBut[corev1.Container]("VolumeMounts")
)

// fieldsBut are those of a struct without some.
func fieldsBut[T any](without ...string) (out fields) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		if !slices.Contains(without, t.Field(i).Name) {
			out = append(out, i)
		}
	}
	return out
}

// same says that two structs have the same in memory in these fields.
func (f fields) same(a, b reflect.Value) bool {
	return !slices.ContainsFunc(f, func(i int) bool { return !sameMemory(a.Field(i), b.Field(i)) })
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
	case reflect.Map, reflect.Pointer:
		return a.UnsafePointer() == b.UnsafePointer()
	case reflect.String:
		return a.String() == b.String()
	}
	return a.Equal(b)
}
