package sim

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// cache is what one actor's watches have delivered. It answers a controller as
// a lister would, and a plugin as a Reader.
type cache struct {
	tables  []*table // by kind, made when first asked for
	numbers []*numbers
	pods    []*corev1.Pod // the list that was last asked for
}

var _ engine.Cache = &cache{}

// newCache makes an empty cache of the objects that a store has given numbers to.
func newCache(numbers []*numbers) *cache {
	return &cache{tables: make([]*table, len(kinds)), numbers: numbers}
}

func (c *cache) table(k *kind) *table {
	t := c.tables[k.place]
	if t == nil {
		t = newTable(c.numbers[k.place])
		c.tables[k.place] = t
	}
	return t
}

// Get reads one object by resource.
func (c *cache) Get(resource, namespace, name string) (Object, bool) {
	k := resourceKind(resource)
	if k == nil {
		return nil, false
	}
	return c.get(k, namespace, name)
}

func (c *cache) get(k *kind, namespace, name string) (Object, bool) {
	return c.table(k).get(namespace, name)
}

// List reads all objects of a resource in order of arrival; namespace "" means all.
func (c *cache) List(resource, namespace string) []Object {
	k := resourceKind(resource)
	if k == nil {
		return nil
	}
	t := c.table(k)
	if namespace == "" {
		return of[Object](t.everything())
	}
	return of[Object](t.in(namespace))
}

func lookup[T Object](c *cache, k *kind, namespace, name string) (T, error) {
	o, ok := c.get(k, namespace, name)
	if !ok {
		var none T
		// A lister names the resource in the singular: replicaset.apps "web" not found.
		singular := schema.GroupResource{Group: k.gvk.Group, Resource: strings.ToLower(k.gvk.Kind)}
		return none, apierrors.NewNotFound(singular, name)
	}
	return o.(T), nil
}

func (c *cache) Deployment(namespace, name string) (*appsv1.Deployment, error) {
	return lookup[*appsv1.Deployment](c, deployments, namespace, name)
}

func (c *cache) Deployments(namespace string) []*appsv1.Deployment {
	return of[*appsv1.Deployment](c.table(deployments).in(namespace))
}

func (c *cache) ReplicaSet(namespace, name string) (*appsv1.ReplicaSet, error) {
	return lookup[*appsv1.ReplicaSet](c, replicaSets, namespace, name)
}

func (c *cache) ReplicaSets(namespace string) []*appsv1.ReplicaSet {
	return of[*appsv1.ReplicaSet](c.table(replicaSets).in(namespace))
}

func (c *cache) ReplicaSetsOf(owner types.UID) []*appsv1.ReplicaSet {
	return of[*appsv1.ReplicaSet](c.table(replicaSets).ofUID(owner))
}

func (c *cache) PodsOf(namespace, name string, uid types.UID) []*corev1.Pod {
	return c.listPods(c.table(pods).ofOwner(owned{namespace, "ReplicaSet", name, uid}))
}

func (c *cache) OrphanPods(namespace string) []*corev1.Pod {
	return c.listPods(c.table(pods).ofOwner(owned{namespace: namespace}))
}

func (c *cache) PodsIn(namespace string) []*corev1.Pod {
	return c.listPods(c.table(pods).in(namespace))
}

// listPods writes a list of pods over the last, of which nothing is held on to.
func (c *cache) listPods(l *list) []*corev1.Pod {
	last := c.pods
	c.pods = into(c.pods[:0], l)
	if n := len(c.pods); n < len(last) {
		clear(last[n:])
	}
	return c.pods
}

// LastSynced takes the names of group resources: pods, replicasets.apps.
func (c *cache) LastSynced(resource string) string {
	for _, k := range kinds {
		if k.key == resource {
			return c.table(k).synced
		}
	}
	return ""
}
