package sim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// ownership keeps metadata.managedFields: which manager set which field of an
// object, and how. A world keeps it only when someone in it applies server-side.
type ownership struct {
	world    *World
	scheme   *runtime.Scheme
	types    managedfields.TypeConverter
	managers map[ownedPart]*managedfields.FieldManager
}

// ownedPart is what one field manager of the library is for.
type ownedPart struct {
	kind        *kind
	subresource string
}

func newOwnership(w *World) *ownership {
	o := &ownership{world: w, managers: map[ownedPart]*managedfields.FieldManager{}}
	o.scheme, o.types = typesOnce()
	return o
}

// Default fills in what an applied configuration leaves open, as decoding does.
func (o *ownership) Default(obj runtime.Object) {
	if object, ok := obj.(Object); ok {
		o.world.server.templates.fill(object)
	}
}

// resets are the fields that a write to a part cannot set (the strategies' GetResetFields).
func (p ownedPart) resets() map[fieldpath.APIVersion]fieldpath.Filter {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if p.subresource == "status" {
		set = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
		if p.kind == deployments {
			set.Insert(fieldpath.MakePathOrDie("metadata", "labels"))
		}
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(p.kind.gvk.GroupVersion().String()): fieldpath.NewExcludeSetFilter(set),
	}
}

func (o *ownership) manager(k *kind, subresource string) (*managedfields.FieldManager, error) {
	part := ownedPart{k, subresource}
	if m, ok := o.managers[part]; ok {
		return m, nil
	}
	if o.types == nil || !o.scheme.Recognizes(k.gvk) {
		return nil, fmt.Errorf("the simulated server tracks no fields of %s", k.resource)
	}
	m, err := managedfields.NewDefaultFieldManager(o.types, o.scheme, o, o.scheme, k.gvk, k.gvk.GroupVersion(), subresource, part.resets())
	if err == nil {
		o.managers[part] = m
	}
	return m, err
}

// wrote notes who a write's changes belong to. What cannot be tracked keeps the
// entries it had, as on a real server (UpdateNoErrors).
func (o *ownership) wrote(actor string, w write) {
	m, err := o.manager(w.kind, w.subresource)
	if err != nil {
		return
	}
	before := w.kind.fresh()
	if w.old != nil {
		before = w.old
	}
	after := w.kind.clone(w.obj)
	if out, err := m.Update(before, after, managerOf(actor)); err == nil {
		after = out.(Object)
	} else {
		after.SetManagedFields(before.GetManagedFields())
	}
	w.obj.SetManagedFields(o.timed(after.GetManagedFields(), before.GetManagedFields()))
}

// managerOf is the program by whose name an actor's writes are known.
func managerOf(actor string) string {
	switch actor {
	case trace.ActorYou:
		return "kubectl"
	case trace.ActorKubelet:
		return "kubelet"
	case trace.ActorScheduler:
		return "kube-scheduler"
	}
	return "kube-controller-manager"
}

// timed gives new and changed entries the present virtual time, where the
// library has put the real one, and the order that follows from it.
func (o *ownership) timed(entries, before []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	now := o.world.now()
	for i := range entries {
		e := &entries[i]
		same := slices.IndexFunc(before, func(b metav1.ManagedFieldsEntry) bool {
			return b.Manager == e.Manager && b.Operation == e.Operation && b.APIVersion == e.APIVersion && b.Subresource == e.Subresource
		})
		if same < 0 || !e.Time.Equal(before[same].Time) {
			e.Time = &now
		}
	}
	slices.SortStableFunc(entries, compareEntries)
	return entries
}

// compareEntries is the order in which a server lists entries (managedfields internal sortEncodedManagedFields).
func compareEntries(a, b metav1.ManagedFieldsEntry) int {
	for _, c := range []int{
		strings.Compare(string(a.Operation), string(b.Operation)), seconds(a.Time) - seconds(b.Time),
		strings.Compare(a.Manager, b.Manager), strings.Compare(a.APIVersion, b.APIVersion), strings.Compare(a.Subresource, b.Subresource),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}

func seconds(t *metav1.Time) int {
	if t == nil {
		return 0
	}
	return int(t.Unix())
}

// untimed says that two lists differ in their times at most: an apply that
// changes nothing else is not stored.
func untimed(a, b []metav1.ManagedFieldsEntry) bool {
	strip := func(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		out := slices.Clone(entries)
		for i := range out {
			out[i].Time = nil
		}
		slices.SortStableFunc(out, compareEntries)
		return out
	}
	return reflect.DeepEqual(strip(a), strip(b))
}
