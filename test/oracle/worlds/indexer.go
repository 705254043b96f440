package worlds

import (
	"slices"

	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// informer is what an upstream controller watches one resource through; the
// twin feeds it by hand.
type informer struct {
	cache.SharedIndexInformer
	*ordered
	resource string // as group resources are written
	handlers []cache.ResourceEventHandler
}

func newInformer(resource string) *informer {
	return &informer{resource: resource, ordered: &ordered{
		Indexer: cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		keys:    map[place][]string{},
	}}
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return nil, nil
}
func (i *informer) AddIndexers(x cache.Indexers) error { return i.ordered.AddIndexers(x) }
func (i *informer) GetIndexer() cache.Indexer          { return i.ordered }
func (i *informer) GetStore() cache.Store              { return i.ordered }
func (i *informer) HasSynced() bool                    { return true }

type deploymentInformer struct{ *informer }

func (d deploymentInformer) Informer() cache.SharedIndexInformer { return d.informer }
func (d deploymentInformer) Lister() appslisters.DeploymentLister {
	return appslisters.NewDeploymentLister(d.ordered)
}

type replicaSetInformer struct{ *informer }

func (r replicaSetInformer) Informer() cache.SharedIndexInformer { return r.informer }
func (r replicaSetInformer) Lister() appslisters.ReplicaSetLister {
	return appslisters.NewReplicaSetLister(r.ordered)
}

type podInformer struct{ *informer }

func (p podInformer) Informer() cache.SharedIndexInformer { return p.informer }
func (p podInformer) Lister() corelisters.PodLister       { return corelisters.NewPodLister(p.ordered) }

// ordered is upstream's indexer, except that lists come in the order of arrival
// under their index value. Upstream's come in the order of a map, which is
// random: any order is a possible one, and this is the one our cache has. It
// decides which of equal pods are deleted and in which order objects are claimed.
type ordered struct {
	cache.Indexer
	keys map[place][]string
}

// place is a value of an index.
type place struct{ index, value string }

func (o *ordered) places(obj any) []place {
	var out []place
	for name, fn := range o.GetIndexers() {
		values, _ := fn(obj)
		for _, v := range values {
			out = append(out, place{name, v})
		}
	}
	return out
}

func (o *ordered) Add(obj any) error { return o.Update(obj) }
func (o *ordered) Update(obj any) error {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	var was []place
	if old, ok, _ := o.GetByKey(key); ok {
		was = o.places(old)
	}
	is := o.places(obj)
	for _, p := range was {
		if !slices.Contains(is, p) {
			o.leave(p, key)
		}
	}
	for _, p := range is {
		if !slices.Contains(was, p) {
			o.keys[p] = append(o.keys[p], key)
		}
	}
	return o.Indexer.Update(obj)
}

func (o *ordered) Delete(obj any) error {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if old, ok, _ := o.GetByKey(key); ok {
		for _, p := range o.places(old) {
			o.leave(p, key)
		}
	}
	return o.Indexer.Delete(obj)
}

func (o *ordered) leave(p place, key string) {
	o.keys[p] = slices.DeleteFunc(o.keys[p], func(k string) bool { return k == key })
}

func (o *ordered) ByIndex(index, value string) ([]any, error) {
	var out []any
	for _, key := range o.keys[place{index, value}] {
		obj, _, _ := o.GetByKey(key)
		out = append(out, obj)
	}
	return out, nil
}

func (o *ordered) Index(index string, obj any) ([]any, error) {
	values, err := o.GetIndexers()[index](obj)
	var out []any
	for _, v := range values {
		found, _ := o.ByIndex(index, v)
		out = append(out, found...)
	}
	return out, err
}
