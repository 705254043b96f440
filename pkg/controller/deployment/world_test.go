package deployment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// object is what the world stores: Deployments, ReplicaSets and pods.
type object interface {
	runtime.Object
	metav1.Object
}

// world is an API server in memory with optimistic locking, the controller's
// cache, and its queue. Nothing moves but by the test's hand: watch events wait
// until they are delivered, delays until the clock is moved.
type world struct {
	controller *Controller
	clock      *clocktesting.FakePassiveClock
	began      time.Time
	stored     table
	cached     table
	pending    []engine.Change
	revision   int
	fail       map[string]error // by "POST replicasets": the error of the next such call
	queue      queue
	out        strings.Builder
}

func newWorld(v rollout.Version) *world {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &world{controller: New(v), clock: clocktesting.NewFakePassiveClock(began), began: began, fail: map[string]error{}}
	w.queue = queue{now: w.clock.Now, failures: map[engine.Key]int{}}
	return w
}

func (w *world) env() *engine.Env {
	return &engine.Env{Cache: cache{&w.cached}, API: api{w}, Queue: &w.queue, Clock: w.clock, Events: recorder{w}, Trace: tracer{w}}
}

func (w *world) say(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

// deliver gives the first pending event of a kind, or of any, to the cache and
// lets the controller work until its queue is empty.
func (w *world) deliver(kind string) bool {
	for i, c := range w.pending {
		if obj := c.New.(object); kind == "" || kindOf(obj) == kind {
			w.pending = append(w.pending[:i:i], w.pending[i+1:]...)
			w.say("<< %s %s/%s", c.Verb, kindOf(obj), obj.GetName())
			c.Old = w.cached.get(kindOf(obj), obj.GetNamespace(), obj.GetName())
			if c.Verb == engine.Deleted {
				w.cached.remove(obj)
			} else {
				w.cached.put(obj)
			}
			w.controller.Observe(w.env(), c)
			w.work()
			return true
		}
	}
	return false
}

func (w *world) work() {
	for key, ok := w.queue.pop(); ok; key, ok = w.queue.pop() {
		w.say("sync %s", key.Name)
		if err := engine.Step(context.Background(), w.controller, w.env(), key); err != nil {
			w.say("  error: %v", err)
		}
	}
}

// advance moves the clock, stopping to work where a delayed key falls due.
func (w *world) advance(by time.Duration) {
	until := w.clock.Now().Add(by)
	for key, at := w.queue.due(until); key != nil; key, at = w.queue.due(until) {
		w.clock.SetTime(at)
		w.say("-- %s", at.Sub(w.began))
		w.queue.wake(*key)
		w.work()
	}
	w.clock.SetTime(until)
}

// store writes an object as the API server would and queues its watch event. A
// write that changes nothing makes no event.
func (w *world) store(verb engine.Verb, obj object) object {
	obj = encoded(obj)
	old := w.stored.get(kindOf(obj), obj.GetNamespace(), obj.GetName())
	if old != nil && verb == engine.Modified && apiequality.Semantic.DeepEqual(old, obj) {
		return obj
	}
	w.revision++
	obj.SetResourceVersion(strconv.Itoa(w.revision))
	if verb == engine.Deleted {
		w.stored.remove(obj)
	} else {
		w.stored.put(obj)
	}
	w.pending = append(w.pending, engine.Change{Verb: verb, New: obj})
	return obj
}

func (w *world) create(obj object) object {
	obj.SetUID(types.UID(fmt.Sprintf("uid-%d", w.revision+1)))
	obj.SetGeneration(1)
	obj.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	return w.store(engine.Added, obj)
}

// encoded is the object after a round trip through JSON: whole seconds, no empty lists.
func encoded(obj object) object {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	out := blank(kindOf(obj))
	if err := json.Unmarshal(data, out); err != nil {
		panic(err)
	}
	return out
}

func blank(kind string) object {
	switch kind {
	case "Deployment":
		return &appsv1.Deployment{}
	case "ReplicaSet":
		return &appsv1.ReplicaSet{}
	}
	return &corev1.Pod{}
}

func kindOf(obj object) string {
	switch obj.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *appsv1.ReplicaSet:
		return "ReplicaSet"
	}
	return "Pod"
}

// api is the world as the controller may change it, each call said in the story.
type api struct{ w *world }

// call finds the object, checks the version when there is one to check, lets
// write act on it, and says how it went.
func (a api) call(verb, path string, obj object, write func(stored object) object) (object, error) {
	result, err := a.try(verb, path, obj, write)
	code := 200
	var answer apierrors.APIStatus
	switch {
	case errors.As(err, &answer):
		code = int(answer.Status().Code)
	case verb == "POST":
		code = 201
	}
	line := fmt.Sprintf("  %s %s %s %d", verb, path, obj.GetName(), code)
	if verb == "POST" || verb == "PUT" {
		line += " " + describe(obj, strings.HasSuffix(path, "/status"))
	}
	a.w.say("%s", strings.TrimRight(line, " "))
	return result, err
}

func (a api) try(verb, path string, obj object, write func(stored object) object) (object, error) {
	if err := a.w.fail[verb+" "+path]; err != nil {
		delete(a.w.fail, verb+" "+path)
		return nil, err
	}
	resource := schema.GroupResource{Group: "apps", Resource: strings.TrimSuffix(path, "/status")}
	stored := a.w.stored.get(kindOf(obj), obj.GetNamespace(), obj.GetName())
	switch {
	case verb == "POST" && stored != nil:
		return nil, apierrors.NewAlreadyExists(resource, obj.GetName())
	case verb == "POST":
		return a.w.create(obj.DeepCopyObject().(object)), nil
	case stored == nil:
		return nil, apierrors.NewNotFound(resource, obj.GetName())
	case verb == "PUT" && obj.GetResourceVersion() != stored.GetResourceVersion():
		return nil, apierrors.NewConflict(resource, obj.GetName(), fmt.Errorf("the object has been modified"))
	case verb == "GET":
		return stored, nil
	case verb == "DELETE":
		return a.w.store(engine.Deleted, stored), nil
	}
	return a.w.store(engine.Modified, write(stored.DeepCopyObject().(object))), nil
}

func (a api) GetDeployment(_ context.Context, namespace, name string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return as[*appsv1.Deployment](a.call("GET", "deployments", d, nil))
}

func (a api) UpdateDeployment(_ context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return as[*appsv1.Deployment](a.call("PUT", "deployments", d, func(o object) object {
		out := d.DeepCopy()
		out.Status = o.(*appsv1.Deployment).Status
		return a.w.withGeneration(o.(*appsv1.Deployment), out)
	}))
}

func (w *world) withGeneration(old, d *appsv1.Deployment) *appsv1.Deployment {
	if !apiequality.Semantic.DeepEqual(old.Spec, d.Spec) || !apiequality.Semantic.DeepEqual(old.Annotations, d.Annotations) {
		d.Generation = old.Generation + 1
	}
	return d
}

func (a api) UpdateDeploymentStatus(_ context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return as[*appsv1.Deployment](a.call("PUT", "deployments/status", d, func(o object) object {
		out := o.(*appsv1.Deployment)
		out.Status, out.Annotations = d.Status, d.Annotations
		return out
	}))
}

func (a api) GetReplicaSet(context.Context, string, string) (*appsv1.ReplicaSet, error) {
	return nil, fmt.Errorf("the Deployment controller reads no ReplicaSet past its cache")
}

func (a api) CreateReplicaSet(_ context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return as[*appsv1.ReplicaSet](a.call("POST", "replicasets", rs, nil))
}

func (a api) UpdateReplicaSet(_ context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return as[*appsv1.ReplicaSet](a.call("PUT", "replicasets", rs, func(o object) object {
		old, out := o.(*appsv1.ReplicaSet), rs.DeepCopy()
		out.Status = old.Status
		if !apiequality.Semantic.DeepEqual(old.Spec, out.Spec) {
			out.Generation = old.Generation + 1
		}
		return out
	}))
}

func (a api) UpdateReplicaSetStatus(context.Context, *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return nil, fmt.Errorf("the Deployment controller writes no status of a ReplicaSet")
}

func (a api) PatchReplicaSet(_ context.Context, namespace, name string, patch types.PatchType, data []byte) (*appsv1.ReplicaSet, error) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return as[*appsv1.ReplicaSet](a.call("PATCH", "replicasets", rs, func(o object) object {
		original, _ := json.Marshal(o)
		merged, err := strategicpatch.StrategicMergePatch(original, data, appsv1.ReplicaSet{})
		out := &appsv1.ReplicaSet{}
		if err != nil || patch != types.StrategicMergePatchType || json.Unmarshal(merged, out) != nil {
			panic(fmt.Sprintf("patch %s %s: %v", patch, data, err))
		}
		return out
	}))
}

func (a api) DeleteReplicaSet(_ context.Context, namespace, name string) error {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	_, err := a.call("DELETE", "replicasets", rs, nil)
	return err
}

func (a api) CreatePod(context.Context, *corev1.Pod) (*corev1.Pod, error) {
	return nil, fmt.Errorf("the Deployment controller makes no pods")
}

func (a api) PatchPod(context.Context, string, string, types.PatchType, []byte) (*corev1.Pod, error) {
	return nil, fmt.Errorf("the Deployment controller changes no pods")
}

func (a api) DeletePod(context.Context, string, string) error {
	return fmt.Errorf("the Deployment controller deletes no pods")
}

func as[T object](obj object, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return obj.(T), nil
}

type recorder struct{ w *world }

func (r recorder) Event(_ runtime.Object, eventType, reason, message string) {
	r.w.say("  event %s %s: %s", eventType, reason, message)
}

type tracer struct{ w *world }

func (t tracer) Emit(object trace.Ref, detail trace.Detail) trace.Seq {
	t.w.say("  . %s %s", object.Name, explain(detail))
	return 0
}
