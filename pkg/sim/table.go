package sim

import (
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is one object of a table. Its place in each list of the table is kept
// with it, so that a change costs no search.
type entry struct {
	obj   Object
	lists [3]*list // all, its namespace, its controller (or the namespace's orphans)
	at    [3]int
}

// list holds entries in the order in which they came. Removal leaves a hole;
// holes are closed when they outnumber the rest.
type list struct {
	entries []*entry
	live    int
	which   int // its place in entry.lists
}

func (l *list) add(e *entry) {
	e.lists[l.which], e.at[l.which] = l, len(l.entries)
	l.entries = append(l.entries, e)
	l.live++
}

func (l *list) remove(e *entry) {
	l.entries[e.at[l.which]] = nil
	l.live--
	if len(l.entries) > 32 && l.live < len(l.entries)/2 {
		l.close()
	}
}

func (l *list) close() {
	kept := l.entries[:0]
	for _, e := range l.entries {
		if e != nil {
			e.at[l.which] = len(kept)
			kept = append(kept, e)
		}
	}
	clear(l.entries[len(kept):])
	l.entries = kept
}

// owned names a controller: pods are found by it as upstream's podController index does.
type owned struct {
	namespace, kind, name string
	uid                   types.UID
}

// table holds the objects of one resource: the store's truth, or what an
// actor's watch has delivered. Lists keep the order of arrival.
type table struct {
	objects map[string]map[string]*entry // by namespace and name
	all     list
	spaces  map[string]*list
	owners  map[owned]*list
	byUID   map[types.UID]*list // the lists of owners, by the owner's UID alone
	synced  string              // resourceVersion of the newest change seen
}

func newTable() *table {
	return &table{
		objects: map[string]map[string]*entry{},
		spaces:  map[string]*list{},
		owners:  map[owned]*list{},
		byUID:   map[types.UID]*list{},
	}
}

// ownerOf is the key of an object's controller; orphans share one key a namespace.
func ownerOf(o Object) owned {
	key := owned{namespace: o.GetNamespace()}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		key.kind, key.name, key.uid = ref.Kind, ref.Name, ref.UID
	}
	return key
}

// sameOwners says that two versions of an object share their list of owners.
func sameOwners(a, b Object) bool {
	x, y := a.GetOwnerReferences(), b.GetOwnerReferences()
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
}

func (t *table) get(namespace, name string) (Object, bool) {
	e, ok := t.objects[namespace][name]
	if !ok {
		return nil, false
	}
	return e.obj, true
}

// set stores an object and returns what it replaces.
func (t *table) set(o Object) (old Object) {
	namespace, name := o.GetNamespace(), o.GetName()
	names := t.objects[namespace]
	if e, ok := names[name]; ok {
		old = e.obj
		e.obj = o
		if !sameOwners(old, o) {
			if was, is := ownerOf(old), ownerOf(o); was != is {
				e.lists[2].remove(e)
				t.ownerList(is).add(e)
			}
		}
		return old
	}
	e := &entry{obj: o}
	if names == nil {
		names = map[string]*entry{}
		t.objects[namespace] = names
	}
	names[name] = e
	t.all.add(e)
	t.spaceList(namespace).add(e)
	t.ownerList(ownerOf(o)).add(e)
	return nil
}

// drop removes an object and returns it.
func (t *table) drop(o Object) (old Object) {
	names := t.objects[o.GetNamespace()]
	e, ok := names[o.GetName()]
	if !ok {
		return nil
	}
	delete(names, o.GetName())
	for _, l := range e.lists {
		l.remove(e)
	}
	return e.obj
}

func (t *table) spaceList(namespace string) *list {
	l, ok := t.spaces[namespace]
	if !ok {
		l = &list{which: 1}
		t.spaces[namespace] = l
	}
	return l
}

func (t *table) ownerList(key owned) *list {
	l, ok := t.owners[key]
	if !ok {
		l = &list{which: 2}
		t.owners[key] = l
		if key.uid != "" {
			t.byUID[key.uid] = l
		}
	}
	return l
}

// of returns the objects of a list as their own type, in order of arrival.
func of[T Object](l *list) []T {
	if l == nil || l.live == 0 {
		return nil
	}
	out := make([]T, 0, l.live)
	for _, e := range l.entries {
		if e != nil {
			out = append(out, e.obj.(T))
		}
	}
	return out
}
