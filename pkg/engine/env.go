// Package engine is the contract between the controllers and the host that runs
// them: what a controller is, and everything it may touch. There are two hosts,
// pkg/sim in virtual time and pkg/live against an API server.
package engine

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Env is everything a controller may touch. A host hands one out for every
// pass and every observation; it must not be kept beyond that call.
type Env struct {
	Cache  Cache              // reads: possibly stale, never changed by the caller
	API    API                // writes and fresh reads; errors are apierrors
	Queue  Queue              // when to look again
	Clock  clock.PassiveClock // virtual in sim, real in live
	Fanout Fanout             // the independent calls of one pass
	Events Recorder           // Kubernetes Events
	Trace  trace.Tracer       // why
}

// Cache is the controller's own view of the API, filled by its watches. What it
// returns is shared and must not be changed. Lists come in an order that is a
// function of the deliveries alone (never of map iteration). The slices belong
// to the caller, but those of pods only until the cache is next asked for pods:
// there may be a hundred thousand.
type Cache interface {
	// Deployment returns an apierrors NotFound when the cache lacks it, as a lister does.
	Deployment(namespace, name string) (*appsv1.Deployment, error)
	Deployments(namespace string) []*appsv1.Deployment
	ReplicaSet(namespace, name string) (*appsv1.ReplicaSet, error)
	ReplicaSets(namespace string) []*appsv1.ReplicaSet
	// ReplicaSetsOf lists those whose controller reference has the owner's UID.
	ReplicaSetsOf(owner types.UID) []*appsv1.ReplicaSet
	// PodsOf lists the pods whose controller reference is this ReplicaSet's:
	// namespace, kind ReplicaSet, name and UID all equal.
	PodsOf(namespace, name string, uid types.UID) []*corev1.Pod
	// OrphanPods lists the pods of a namespace without a controller reference.
	OrphanPods(namespace string) []*corev1.Pod
	// PodsIn lists all pods of a namespace.
	PodsIn(namespace string) []*corev1.Pod
	// LastSynced is the resourceVersion up to which the cache has seen a
	// resource ("pods", "replicasets.apps"); empty when unknown.
	LastSynced(resource string) string
}

// API is the part of the Kubernetes API the two controllers use, as client-go
// offers it. Every call takes time; a write with a stale resourceVersion is a conflict.
// An object given to an update, though not what it points to, is the API's from then on.
type API interface {
	GetDeployment(ctx context.Context, namespace, name string) (*appsv1.Deployment, error)
	UpdateDeployment(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error)
	UpdateDeploymentStatus(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error)

	GetReplicaSet(ctx context.Context, namespace, name string) (*appsv1.ReplicaSet, error)
	CreateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error)
	UpdateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error)
	UpdateReplicaSetStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error)
	PatchReplicaSet(ctx context.Context, namespace, name string, patch types.PatchType, data []byte) (*appsv1.ReplicaSet, error)
	DeleteReplicaSet(ctx context.Context, namespace, name string) error

	CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)
	PatchPod(ctx context.Context, namespace, name string, patch types.PatchType, data []byte) (*corev1.Pod, error)
	DeletePod(ctx context.Context, namespace, name string) error
}

// Key names the object of a pass.
type Key = types.NamespacedName

// Queue is the part of a rate-limited work queue a controller uses itself;
// Forget and Done belong to Step and to the host.
type Queue interface {
	Add(key Key)
	// AddAfter keeps the earliest pending time of a key: a later one is lost.
	AddAfter(key Key, delay time.Duration)
	AddRateLimited(key Key)
	NumRequeues(key Key) int
	Forget(key Key)
}

// Fanout runs n independent calls of one pass side by side and returns when all
// have ended. The calls may interleave at each API call; errs has one entry a call.
type Fanout func(ctx context.Context, n int, call func(ctx context.Context, i int) error) (errs []error)

// Recorder says a Kubernetes Event about an object, asynchronously.
type Recorder interface {
	Event(object runtime.Object, eventType, reason, message string)
}

// Verb is the kind of a change in a cache.
type Verb string

// The verbs of a watch.
const (
	Added    Verb = "ADDED"
	Modified Verb = "MODIFIED"
	Deleted  Verb = "DELETED"
)

// Change is one change of a controller's cache, told after the cache has it.
type Change struct {
	Verb Verb
	// Old is the object the cache held before, nil when it held none.
	Old runtime.Object
	// New is the object delivered; for Deleted the last known state.
	New runtime.Object
}

// Controller reconciles one kind. It keeps only its own memory (expectations,
// say). The world reaches it through env and through nothing else.
type Controller interface {
	// Observe is told of every change its caches receive; it enqueues keys and settles expectations.
	Observe(env *Env, c Change)
	// Sync is one pass over one object.
	Sync(ctx context.Context, env *Env, key Key) error
	// Retry says whether a key whose pass failed with err, after so many
	// requeues in a row, is tried again.
	Retry(err error, requeues int) bool
}

// Spec is a controller and how a host runs it.
type Spec struct {
	Name       string // actor in the trace: deployment, replicaset
	Component  string // source of its Events: deployment-controller
	Controller Controller
	Watches    []string // resources its cache holds, in the order handlers are registered: deployments, replicasets, pods
	Workers    int      // passes at once; one key never in two
	QPS        float32  // client limit, requests a second; <= 0 is unlimited
	Burst      int
}
