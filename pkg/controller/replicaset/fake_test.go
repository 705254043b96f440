package replicaset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

const namespace = "ns"

// world is a small API server, the controller's cache and its queue. Nothing
// moves by itself: a test delivers watch events and moves the clock. What
// happens is written to out.
type world struct {
	engine.API // the calls this controller does not make
	out        strings.Builder
	clock      *clocktesting.FakePassiveClock
	controller *Controller

	version int
	named   int // pods
	made    int // ReplicaSets
	sets    []*appsv1.ReplicaSet
	pods    []*corev1.Pod
	pending []engine.Change

	cachedSets []*appsv1.ReplicaSet
	cachedPods []*corev1.Pod
	synced     map[string]string

	queued   map[engine.Key]bool
	requeues map[engine.Key]int

	quota  int              // most pods; 0 is no limit
	broken map[string]error // by "POST pods" and so on
	// meanwhile is the resource whose events arrive right after every write.
	meanwhile string
}

func newWorld(v rollout.Version) *world {
	return &world{
		clock:      clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
		controller: New(v),
		version:    100,
		synced:     map[string]string{},
		queued:     map[engine.Key]bool{},
		requeues:   map[engine.Key]int{},
		broken:     map[string]error{},
	}
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *world) env() *engine.Env {
	return &engine.Env{
		Cache: fakeCache{w}, API: w, Queue: fakeQueue{w}, Clock: w.clock, Events: fakeRecorder{w}, Trace: fakeTracer{w},
		Fanout: func(ctx context.Context, n int, call func(context.Context, int) error) []error {
			errs := make([]error, n)
			for i := range errs {
				errs[i] = call(ctx, i)
			}
			return errs
		},
	}
}

func (w *world) sync(name string) {
	key := engine.Key{Namespace: namespace, Name: name}
	delete(w.queued, key)
	if err := engine.Step(context.Background(), w.controller, w.env(), key); err != nil {
		w.printf("error: %v", err)
	}
}

// object is what the store needs of its two kinds.
type object interface {
	metav1.Object
	runtime.Object
}

func resourceOf(o runtime.Object) string {
	if _, ok := o.(*corev1.Pod); ok {
		return podsResource
	}
	return replicaSetsResource
}

// put stores an object, gives it a version and leaves its watch event pending.
func (w *world) put(o object) {
	w.version++
	o.SetResourceVersion(strconv.Itoa(w.version))
	verb := engine.Modified
	switch o := o.(type) {
	case *corev1.Pod:
		if !replace(w.pods, o) {
			w.pods, verb = append(w.pods, o), engine.Added
		}
	case *appsv1.ReplicaSet:
		if !replace(w.sets, o) {
			w.sets, verb = append(w.sets, o), engine.Added
		}
	}
	w.pending = append(w.pending, engine.Change{Verb: verb, New: o})
}

// remove takes an object out of the store; its last state has a new version.
func (w *world) remove(o object) {
	last := o.DeepCopyObject().(object)
	w.version++
	last.SetResourceVersion(strconv.Itoa(w.version))
	if pod, ok := last.(*corev1.Pod); ok {
		w.pods = without(w.pods, pod.Name)
	} else {
		w.sets = without(w.sets, last.GetName())
	}
	w.pending = append(w.pending, engine.Change{Verb: engine.Deleted, New: last})
}

func replace[T metav1.Object](list []T, o T) bool {
	for i := range list {
		if list[i].GetName() == o.GetName() {
			list[i] = o
			return true
		}
	}
	return false
}

func without[T metav1.Object](list []T, name string) []T {
	return slices.DeleteFunc(slices.Clone(list), func(o T) bool { return o.GetName() == name })
}

func find[T metav1.Object](list []T, name string) (found T, ok bool) {
	for _, o := range list {
		if o.GetName() == name {
			return o, true
		}
	}
	return found, false
}

// deliver hands up to n pending events of a resource ("" is any) to the cache
// and then to the controller.
func (w *world) deliver(resource string, n int) {
	for i := 0; i < len(w.pending) && n > 0; {
		change := w.pending[i]
		if resource != "" && resourceOf(change.New) != resource {
			i++
			continue
		}
		n--
		w.pending = slices.Delete(w.pending, i, i+1)
		w.arrive(change)
	}
}

func (w *world) arrive(change engine.Change) {
	o := change.New.(object)
	w.printf("<< %s %s %s", change.Verb, resourceOf(o), o.GetName())
	switch o := o.(type) {
	case *corev1.Pod:
		w.cachedPods, change.Old = receive(w.cachedPods, change.Verb, o)
	case *appsv1.ReplicaSet:
		w.cachedSets, change.Old = receive(w.cachedSets, change.Verb, o)
	}
	w.synced[resourceOf(o)] = o.GetResourceVersion()
	w.controller.Observe(w.env(), change)
}

func receive[T object](list []T, verb engine.Verb, o T) ([]T, runtime.Object) {
	var old runtime.Object
	if was, ok := find(list, o.GetName()); ok {
		old = was
	}
	switch {
	case verb == engine.Deleted:
		list = without(list, o.GetName())
	case !replace(list, o):
		list = append(list, o)
	}
	return list, old
}

// answer logs a call and tells whether a test wants it to fail.
func (w *world) answer(verb, resource, name string, err error) error {
	if broken := w.broken[verb+" "+resource]; err == nil && broken != nil {
		err = broken
	}
	if err != nil {
		w.printf("%s %s %s: %v", verb, resource, name, err)
		return err
	}
	w.printf("%s %s %s", verb, resource, name)
	return nil
}

func (w *world) written() {
	if w.meanwhile != "" {
		w.deliver(w.meanwhile, len(w.pending))
	}
}

func (w *world) GetReplicaSet(_ context.Context, _, name string) (*appsv1.ReplicaSet, error) {
	rs, ok := find(w.sets, name)
	var err error
	if !ok {
		err = notFound("replicasets", name)
	}
	return rs, w.answer("GET", "rs", name, err)
}

func (w *world) UpdateReplicaSetStatus(_ context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	stored, ok := find(w.sets, rs.Name)
	var err error
	switch {
	case !ok:
		err = notFound("replicasets", rs.Name)
	case stored.ResourceVersion != rs.ResourceVersion:
		err = apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "replicasets"}, rs.Name, errors.New("the object has been modified"))
	}
	if err := w.answer("PUT", "rs/status", rs.Name+" "+describeStatus(rs.Status), err); err != nil {
		return nil, err
	}
	next := stored.DeepCopy()
	next.Status = *rs.Status.DeepCopy()
	for i := range next.Status.Conditions {
		c := &next.Status.Conditions[i]
		c.LastTransitionTime.Time = c.LastTransitionTime.Truncate(time.Second)
	}
	w.put(next)
	w.written()
	return next, nil
}

func describeStatus(s appsv1.ReplicaSetStatus) string {
	text := fmt.Sprintf("gen=%d replicas=%d labeled=%d ready=%d available=%d", s.ObservedGeneration, s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas)
	if s.TerminatingReplicas != nil {
		text += fmt.Sprintf(" terminating=%d", *s.TerminatingReplicas)
	}
	for _, c := range s.Conditions {
		text += fmt.Sprintf(" %s=%s/%s(%s)", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func (w *world) CreatePod(_ context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	var err error
	if w.quota > 0 && len(w.pods) >= w.quota {
		err = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.GenerateName+"x", errors.New("exceeded quota"))
	}
	if err := w.answer("POST", podsResource, pod.GenerateName, err); err != nil {
		return nil, err
	}
	w.named++
	created := pod.DeepCopy()
	created.Name = pod.GenerateName + strconv.Itoa(w.named)
	created.UID = types.UID("uid-" + created.Name)
	created.CreationTimestamp = metav1.NewTime(w.clock.Now().Truncate(time.Second))
	created.Status.Phase = corev1.PodPending
	w.put(created)
	w.written()
	return created, nil
}

func (w *world) PatchPod(_ context.Context, _, name string, _ types.PatchType, data []byte) (*corev1.Pod, error) {
	pod, ok := find(w.pods, name)
	var err error
	if !ok {
		err = notFound("pods", name)
	}
	if err := w.answer("PATCH", podsResource, name+" "+string(data), err); err != nil {
		return nil, err
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, data, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(after, patched); err != nil {
		return nil, err
	}
	w.put(patched)
	w.written()
	return patched, nil
}

// DeletePod is graceful for a pod that has a node.
func (w *world) DeletePod(_ context.Context, _, name string) error {
	pod, ok := find(w.pods, name)
	var err error
	if !ok {
		err = notFound("pods", name)
	}
	if err := w.answer("DELETE", podsResource, name, err); err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		w.remove(pod)
	} else {
		going := pod.DeepCopy()
		now := metav1.NewTime(w.clock.Now().Truncate(time.Second))
		going.DeletionTimestamp = &now
		w.put(going)
	}
	w.written()
	return nil
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}
