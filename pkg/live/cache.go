package live

import (
	"context"
	"maps"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// The indexes of the shared informers. (upstream: controller.PodControllerIndex,
// replicaset controllerUIDIndex)
const (
	byOwner    = "podController"
	byOwnerUID = "controllerUID"
)

// informerCache is engine.Cache over shared informers: what it returns is theirs.
type informerCache struct {
	deployments appslisters.DeploymentLister
	sets        appslisters.ReplicaSetLister
	pods        corelisters.PodLister
	informers   map[string]cache.SharedIndexInformer // by resource
}

var _ engine.Cache = &informerCache{}

// newInformerCache makes the informers of one namespace, or of all where it is
// empty; none runs yet. They are those of client-go's informer factory, without
// the factory: through it the linker keeps the informers and listers of every
// kind there is, some seven megabytes. (upstream: client-go
// informers/apps/v1/deployment.go NewTypedDeploymentInformerWithOptions)
func newInformerCache(client kubernetes.Interface, namespace string, resync time.Duration) (*informerCache, error) {
	d := informer(client, client.AppsV1().Deployments(namespace), &appsv1.Deployment{}, resync, nil)
	rs := informer(client, client.AppsV1().ReplicaSets(namespace), &appsv1.ReplicaSet{}, resync, cache.Indexers{byOwnerUID: ownerUID})
	p := informer(client, client.CoreV1().Pods(namespace), &corev1.Pod{}, resync, cache.Indexers{byOwner: podOwner})
	c := &informerCache{
		deployments: appslisters.NewDeploymentLister(d.GetIndexer()),
		sets:        appslisters.NewReplicaSetLister(rs.GetIndexer()),
		pods:        corelisters.NewPodLister(p.GetIndexer()),
		informers:   map[string]cache.SharedIndexInformer{"deployments": d, "replicasets": rs, "pods": p},
	}
	for _, informer := range c.informers {
		if err := informer.SetTransform(withoutManagers); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// listed is what a typed client lists and watches.
type listed[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// informer holds what a client lists, by namespace and by the indexes.
func informer[L runtime.Object](client kubernetes.Interface, from listed[L], of runtime.Object, resync time.Duration, indexes cache.Indexers) cache.SharedIndexInformer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	maps.Copy(indexers, indexes)
	calls := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return from.List(ctx, o)
		},
		WatchFuncWithContext: from.Watch,
	}
	return cache.NewSharedIndexInformerWithOptions(cache.ToListWatcherWithWatchListSemantics(calls, client), of,
		cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers})
}

// start lets the informers run until ctx ends; the function it returns waits
// for them to have ended.
func (c *informerCache) start(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	for _, informer := range c.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	return running.Wait
}

func ownerUID(obj any) ([]string, error) {
	rs, ok := obj.(*appsv1.ReplicaSet)
	if !ok {
		return nil, nil
	}
	ref := metav1.GetControllerOfNoCopy(rs)
	if ref == nil {
		return nil, nil
	}
	return []string{string(ref.UID)}, nil
}

func podOwner(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return []string{pod.Namespace}, nil
	}
	return []string{ownerKey(pod.Namespace, ref.Kind, ref.Name, ref.UID)}, nil
}

// ownerKey is the index key of an owner's pods; that of orphans is their namespace.
func ownerKey(namespace, kind, name string, uid types.UID) string {
	return namespace + "/" + kind + "/" + name + "/" + string(uid)
}

func (c *informerCache) Deployment(namespace, name string) (*appsv1.Deployment, error) {
	return c.deployments.Deployments(namespace).Get(name)
}

func (c *informerCache) Deployments(namespace string) []*appsv1.Deployment {
	all, _ := c.deployments.Deployments(namespace).List(labels.Everything()) // never an error
	return all
}

func (c *informerCache) ReplicaSet(namespace, name string) (*appsv1.ReplicaSet, error) {
	return c.sets.ReplicaSets(namespace).Get(name)
}

func (c *informerCache) ReplicaSets(namespace string) []*appsv1.ReplicaSet {
	all, _ := c.sets.ReplicaSets(namespace).List(labels.Everything())
	return all
}

func (c *informerCache) ReplicaSetsOf(owner types.UID) []*appsv1.ReplicaSet {
	return indexed[*appsv1.ReplicaSet](c.informers["replicasets"], byOwnerUID, string(owner))
}

func (c *informerCache) PodsOf(namespace, name string, uid types.UID) []*corev1.Pod {
	return indexed[*corev1.Pod](c.informers["pods"], byOwner, ownerKey(namespace, "ReplicaSet", name, uid))
}

func (c *informerCache) OrphanPods(namespace string) []*corev1.Pod {
	return indexed[*corev1.Pod](c.informers["pods"], byOwner, namespace)
}

func (c *informerCache) PodsIn(namespace string) []*corev1.Pod {
	all, _ := c.pods.Pods(namespace).List(labels.Everything())
	return all
}

// LastSynced is the version the informer's store has reached, empty when
// client-go's AtomicFIFO is off. (upstream: controller/util/consistency EnsureReady)
func (c *informerCache) LastSynced(resource string) string {
	switch resource {
	case "pods":
		return c.informers["pods"].GetStore().LastStoreSyncResourceVersion()
	case "replicasets.apps":
		return c.informers["replicasets"].GetStore().LastStoreSyncResourceVersion()
	case "deployments.apps":
		return c.informers["deployments"].GetStore().LastStoreSyncResourceVersion()
	}
	return ""
}

// indexed lists what an informer's index has under a key; the index exists, so
// there is no error to tell of.
func indexed[T any](informer cache.SharedIndexInformer, index, key string) []T {
	objects, _ := informer.GetIndexer().ByIndex(index, key)
	out := make([]T, 0, len(objects))
	for _, obj := range objects {
		if o, ok := obj.(T); ok {
			out = append(out, o)
		}
	}
	return out
}
