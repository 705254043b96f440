package sim

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// numbers are a store's numbers for the names of one resource, in order of first
// use. They are never given again to another name. All tables of the resource
// find objects by them, so that only the store has to look at names.
type numbers struct {
	byName map[string]map[string]int // by namespace and name
	given  int

	// The names of one namespace: most look-ups ask for the same again and again.
	namespace string
	names     map[string]int

	// The name that was last found: a write finds its object before it stores it.
	name   string
	number int
	known  bool
}

func newNumbers() *numbers { return &numbers{byName: map[string]map[string]int{}} }

// in are the numbers of a namespace; nil when it has none yet.
func (n *numbers) in(namespace string) map[string]int {
	if n.names == nil || n.namespace != namespace {
		n.namespace, n.names, n.known = namespace, n.byName[namespace], false
	}
	return n.names
}

func (n *numbers) find(namespace, name string) (int, bool) {
	names := n.in(namespace)
	if n.known && n.name == name {
		return n.number, true
	}
	number, ok := names[name]
	if ok {
		n.name, n.number, n.known = name, number, true
	}
	return number, ok
}

// expect notes that a name is about to be asked for.
func (n *numbers) expect(namespace, name string, number int) {
	n.in(namespace)
	n.name, n.number, n.known = name, number, true
}

// of is the number of an object's name, a new one if it has none.
func (n *numbers) of(o Object) int {
	namespace, name := o.GetNamespace(), o.GetName()
	number, ok := n.find(namespace, name)
	if ok {
		return number
	}
	names := n.names
	if names == nil {
		names = map[string]int{}
		n.byName[namespace] = names
	}
	number = n.given
	names[name] = number
	n.given++
	return number
}

// The lists that an object is in.
const (
	everything = iota
	space      // of its namespace
	family     // of its controller, or the namespace's orphans
	listings
)

// entry is one object of a table. Its place in each list of the table is kept
// with it, so that a change costs no search.
type entry struct {
	obj    Object
	came   uint64          // when, in the table's own count
	joined uint64          // when it came to its controller
	lists  [listings]*list // nil where nobody has asked for any
	at     [listings]int
}

// list holds objects in the order in which they came. Removal leaves a hole;
// holes are closed when they outnumber the rest.
type list struct {
	objs    []Object // nil for a hole; here itself, so that reading a list looks nowhere else
	entries []*entry // of each
	live    int
	which   int // its place in entry.lists
}

func (l *list) add(e *entry) {
	e.lists[l.which], e.at[l.which] = l, len(l.objs)
	l.objs, l.entries = append(l.objs, e.obj), append(l.entries, e)
	l.live++
}

func (l *list) remove(e *entry) {
	at := e.at[l.which]
	l.objs[at], l.entries[at] = nil, nil
	l.live--
	if len(l.objs) > 32 && l.live < len(l.objs)/2 {
		l.close()
	}
}

func (l *list) close() {
	objs, entries := l.objs[:0], l.entries[:0]
	for i, obj := range l.objs {
		if obj != nil {
			l.entries[i].at[l.which] = len(objs)
			objs, entries = append(objs, obj), append(entries, l.entries[i])
		}
	}
	clear(l.objs[len(objs):])
	clear(l.entries[len(entries):])
	l.objs, l.entries = objs, entries
}

// owned names a controller: pods are found by it as upstream's podController index does.
type owned struct {
	namespace, kind, name string
	uid                   types.UID
}

// table holds the objects of one resource: the store's truth, or what an
// actor's watch has delivered. Lists keep the order of arrival. Those of a sort
// are kept from when one is first asked for, since many actors ask for none.
type table struct {
	numbers *numbers
	entries []*entry // by number; nil for what is not there
	count   uint64   // of arrivals
	all     *list
	spaces  map[string]*list
	owners  map[owned]*list
	byUID   map[types.UID]*list // the lists of owners, by the owner's UID alone
	synced  string              // resourceVersion of the newest change seen
}

func newTable(n *numbers) *table { return &table{numbers: n} }

// everything lists all objects.
func (t *table) everything() *list {
	if t.all == nil {
		t.all = &list{which: everything}
		t.fill(everything)
	}
	return t.all
}

// in lists the objects of a namespace; nil for none.
func (t *table) in(namespace string) *list {
	if t.spaces == nil {
		t.spaces = map[string]*list{}
		t.fill(space)
	}
	return t.spaces[namespace]
}

// ofOwner lists the objects of a controller; nil for none.
func (t *table) ofOwner(key owned) *list {
	t.needOwners()
	return t.owners[key]
}

// ofUID is ofOwner by the controller's UID alone.
func (t *table) ofUID(owner types.UID) *list {
	t.needOwners()
	return t.byUID[owner]
}

func (t *table) needOwners() {
	if t.owners == nil {
		t.owners, t.byUID = map[owned]*list{}, map[types.UID]*list{}
		t.fill(family)
	}
}

// fill puts all objects into their lists of one sort, as if these had been kept
// from the beginning.
func (t *table) fill(which int) {
	came := func(e *entry) uint64 {
		if which == family {
			return e.joined
		}
		return e.came
	}
	there := slices.DeleteFunc(slices.Clone(t.entries), func(e *entry) bool { return e == nil })
	slices.SortFunc(there, func(a, b *entry) int { return cmp.Compare(came(a), came(b)) })
	for _, e := range there {
		t.listFor(which, e.obj).add(e)
	}
}

// listFor is the list of a sort that an object belongs to; nil where none are kept.
func (t *table) listFor(which int, o Object) *list {
	switch {
	case which == everything:
		return t.all
	case which == space && t.spaces != nil:
		return t.spaceList(o.GetNamespace())
	case which == family && t.owners != nil:
		return t.ownerList(ownerOf(o))
	}
	return nil
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
	number, ok := t.numbers.find(namespace, name)
	if !ok || number >= len(t.entries) || t.entries[number] == nil {
		return nil, false
	}
	return t.entries[number].obj, true
}

// numbered is get by number. The store expects to be asked for the name next.
func (t *table) numbered(number int) (Object, bool) {
	if number >= len(t.entries) || t.entries[number] == nil {
		return nil, false
	}
	o := t.entries[number].obj
	t.numbers.expect(o.GetNamespace(), o.GetName(), number)
	return o, true
}

// set stores an object under the number of its name and returns what it replaces.
func (t *table) set(number int, o Object) (old Object) {
	for number >= len(t.entries) {
		t.entries = append(t.entries, nil)
	}
	if e := t.entries[number]; e != nil {
		old = e.obj
		e.obj = o
		for i, l := range e.lists {
			if l != nil {
				l.objs[e.at[i]] = o
			}
		}
		if !sameOwners(old, o) && ownerOf(old) != ownerOf(o) {
			t.changeOwner(e)
		}
		return old
	}
	t.count++
	e := &entry{obj: o, came: t.count, joined: t.count}
	t.entries[number] = e
	for which := range e.lists {
		if l := t.listFor(which, o); l != nil {
			l.add(e)
		}
	}
	return nil
}

// changeOwner moves an entry to the end of the list of its object's controller.
func (t *table) changeOwner(e *entry) {
	t.count++
	e.joined = t.count
	if l := e.lists[family]; l != nil {
		l.remove(e)
		t.ownerList(ownerOf(e.obj)).add(e)
	}
}

// drop removes the object of a number and returns it.
func (t *table) drop(number int) (old Object) {
	if number >= len(t.entries) || t.entries[number] == nil {
		return nil
	}
	e := t.entries[number]
	t.entries[number] = nil
	for _, l := range e.lists {
		if l != nil {
			l.remove(e)
		}
	}
	return e.obj
}

func (t *table) spaceList(namespace string) *list {
	l, ok := t.spaces[namespace]
	if !ok {
		l = &list{which: space}
		t.spaces[namespace] = l
	}
	return l
}

func (t *table) ownerList(key owned) *list {
	l, ok := t.owners[key]
	if !ok {
		l = &list{which: family}
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
	return into(make([]T, 0, l.live), l)
}

// into puts the objects of a list behind those of a slice.
func into[T Object](out []T, l *list) []T {
	if l == nil {
		return out
	}
	out = slices.Grow(out, l.live)
	for _, obj := range l.objs {
		if obj != nil {
			out = append(out, obj.(T))
		}
	}
	return out
}
