package sim

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Object is any API object the simulated server stores. Stored objects are
// shared by every cache and never changed: copy before a change. Copying the
// struct is enough when only top-level fields of the copy are replaced.
type Object interface {
	metav1.Object
	runtime.Object
}

// Plugin is a part of the world that moves: a scheduler, the kubelets, a
// garbage collector, a person with a script.
type Plugin interface {
	// Name is the actor in the trace.
	Name() string
	// Start is called once, before time passes: register watches and timers here.
	Start(h *Hands)
}

// Admitter is a Plugin that also sees requests before they are stored. Mutating
// admission of all plugins runs first, then validating, each in the order in
// which the plugins were given.
type Admitter interface {
	// Mutate may change req.New (a copy owned by the request).
	Mutate(req *Request) error
	// Validate refuses a request with an apierrors error, which reaches the client as it is.
	Validate(req *Request) error
}

// Request is one create, update or delete in admission.
type Request struct {
	Verb        string // create, update, delete
	Resource    string // pods, deployments …
	Subresource string // status, binding, scale, eviction or empty
	Actor       string // who asks
	Old, New    Object // New is nil for delete, Old is nil for create
	Now         time.Time
	World       Reader // the stored truth, as admission sees it
	// Wait lets time pass before a creation goes on, as a webhook that does not
	// answer does; nil where the request cannot wait.
	Wait func(time.Duration)
}

// Reader reads objects by resource ("pods", "nodes"). Lists are in creation
// order. Results are shared: copy before a change.
type Reader interface {
	Get(resource, namespace, name string) (Object, bool)
	List(resource, namespace string) []Object // namespace "" lists all
}

// Hands is what the world lends a plugin: time, its own random stream, watches
// with their own delay, and an API client that acts at the present virtual
// moment (a plugin models its latency with After).
type Hands struct {
	actor *actor
}

// Timer is a pending call that can be taken back.
type Timer struct{ item item }

// Now is the present virtual time.
func (h *Hands) Now() time.Time { return h.actor.world.loop.Now() }

// Version is the release the world imitates.
func (h *Hands) Version() rollout.Version { return h.actor.world.cfg.Version }

// Instant says that calls, watches and the plugin's own work take no time.
func (h *Hands) Instant() bool { return h.actor.world.cfg.Timing.Instant() }

// Settling says that the world is being set up before the run: whatever can
// succeed does so at once.
func (h *Hands) Settling() bool { return h.actor.world.settling }

// Rand is this plugin's random stream, derived from the seed and its name.
func (h *Hands) Rand() *rand.Rand { return h.actor.rand }

// Latency draws from one of the world's measured distributions (zero when instant).
func (h *Hands) Latency(d Latency) time.Duration {
	return h.actor.world.draw(d, h.actor.rand)
}

// After calls fn once, d from now. The events fn causes follow from the event
// at hand when After was called.
func (h *Hands) After(d time.Duration, fn func()) *Timer { return h.after(d, fn, false) }

// AfterIdle is After for a call that the world may end without.
func (h *Hands) AfterIdle(d time.Duration, fn func()) *Timer { return h.after(d, fn, true) }

func (h *Hands) after(d time.Duration, fn func(), idle bool) *Timer {
	w := h.actor.world
	t := &Timer{item{when: w.loop.after(d), fn: fn, cause: w.cause, idle: idle}}
	w.loop.push(&t.item)
	return t
}

// Stop takes a pending call back; it reports whether the call was still pending.
func (h *Hands) Stop(t *Timer) bool { return t != nil && h.actor.world.loop.cancel(&t.item) }

// Cause is the event at hand, for work that is done later under it.
func (h *Hands) Cause() trace.Seq { return h.actor.world.cause }

// Under runs fn with its events following from cause.
func (h *Hands) Under(cause trace.Seq, fn func()) { h.actor.world.under(cause, fn) }

// Watch delivers every change of a resource, after the plugin's watch delay
// and in order, starting with ADDED for what already exists.
func (h *Hands) Watch(resource string, fn func(engine.Change)) { h.actor.watch(resource, fn) }

// Follow is Watch for those who keep for themselves what they need to know:
// Cached has nothing of the resource. number is where to keep it: small, the
// same for all changes of an object, and after its deletion that of another
// only if it has the same name.
func (h *Hands) Follow(resource string, fn func(c engine.Change, number int)) {
	h.actor.follow(resource, fn)
}

// Number is that of an object by name, as Follow gives it; false when nothing
// ever had the name.
func (h *Hands) Number(resource, namespace, name string) (int, bool) {
	k := resourceKind(resource)
	if k == nil {
		return 0, false
	}
	return h.actor.world.store.numbers[k.place].find(namespace, name)
}

// Numbered is what is stored under a number that Follow gave.
func (h *Hands) Numbered(resource string, number int) (Object, bool) {
	k := resourceKind(resource)
	if k == nil {
		return nil, false
	}
	return h.actor.world.store.table(k).numbered(number)
}

// Cached reads what this plugin's watches have delivered so far.
func (h *Hands) Cached() Reader { return h.actor.cache }

// Stored reads the truth in the store, for parts of the API server itself.
func (h *Hands) Stored() Reader { return h.actor.world.store }

// Emit traces a detail under this plugin's name, caused by the event at hand.
func (h *Hands) Emit(object trace.Ref, detail trace.Detail) trace.Seq {
	return h.actor.Emit(object, detail)
}

// EmitOn is Emit for actors that exist once a node.
func (h *Hands) EmitOn(node string, object trace.Ref, detail trace.Detail) trace.Seq {
	return h.actor.emitOn(node, object, detail)
}

// Event records a Kubernetes Event in the trace under this plugin's name.
func (h *Hands) Event(object Object, eventType, reason, message string) {
	h.actor.Emit(RefOf(object), trace.Recorded{EventType: eventType, Reason: reason, Message: message})
}

// Create stores a new object through defaulting, admission and validation.
func (h *Hands) Create(obj Object) (Object, error) { return h.actor.direct().create(obj) }

// Update replaces an object (everything but its status).
func (h *Hands) Update(obj Object) (Object, error) { return h.actor.direct().update(obj, "") }

// UpdateStatus replaces an object's status.
func (h *Hands) UpdateStatus(obj Object) (Object, error) {
	return h.actor.direct().update(obj, "status")
}

// GiveStatus is UpdateStatus for an object made for that: it becomes the
// server's, which changes and keeps it.
func (h *Hands) GiveStatus(obj Object) (Object, error) {
	return h.actor.direct().updateOwn(obj, "status")
}

// Patch applies a strategic merge patch to an object.
func (h *Hands) Patch(resource, namespace, name string, patchType types.PatchType, data []byte) (Object, error) {
	return h.actor.direct().patch(resource, namespace, name, patchType, data)
}

// Delete asks for an object's deletion.
func (h *Hands) Delete(resource, namespace, name string, opts metav1.DeleteOptions) error {
	_, err := h.actor.direct().remove(resource, namespace, name, opts)
	return err
}

// Hand is the API as a person uses it, under this plugin's name.
func (h *Hands) Hand() engine.Hand { return hand{h.actor.direct()} }

// Bind assigns a pod to a node, as the binding subresource does.
func (h *Hands) Bind(pod *corev1.Pod, node string) (*corev1.Pod, error) {
	return h.actor.direct().bind(pod, node)
}
