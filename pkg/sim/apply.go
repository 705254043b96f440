package sim

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// ApplyOptions are those of a server-side apply.
type ApplyOptions struct {
	// FieldManager is who applies; empty means kubectl.
	FieldManager string
	// Force takes fields from their other owners.
	Force bool
}

// errUntracked is about a world that was not told that someone would apply server-side.
var errUntracked = errors.New("server-side apply needs a world that keeps the owners of fields (Config.Ownership)")

// ServerSideApply applies a configuration as kubectl apply --server-side does:
// the fields it names become the manager's, those it no longer names go unless
// others own them too, and a field that another manager has changed is a
// conflict (upstream endpoints/handlers/patch.go applyPatcher).
func (h *Hands) ServerSideApply(config map[string]any, opts ApplyOptions) (Object, error) {
	return h.actor.direct().serverSideApply(&unstructured.Unstructured{Object: config}, opts)
}

func (r requester) serverSideApply(config *unstructured.Unstructured, opts ApplyOptions) (Object, error) {
	config = config.DeepCopy()
	k, ok := kindByName[config.GetKind()]
	switch {
	case !ok || k.gvk != config.GroupVersionKind():
		return nil, fmt.Errorf("the simulated server has no %s %s", config.GetAPIVersion(), config.GetKind())
	case r.server.owners == nil:
		return nil, errUntracked
	case config.GetName() == "":
		return nil, apierrors.NewBadRequest("name must be provided")
	}
	if k.namespaced && config.GetNamespace() == "" {
		config.SetNamespace(metav1.NamespaceDefault)
	}
	if opts.FieldManager == "" {
		opts.FieldManager = managerOf(r.actor.name)
	}
	old, exists := r.server.store.get(k, config.GetNamespace(), config.GetName())
	obj, err := r.server.merge(k, old, config, opts)
	ref := trace.Ref{Kind: k.gvk.Kind, Namespace: config.GetNamespace(), Name: config.GetName()}
	changed := trace.Changed{Verb: "create"}
	if exists {
		changed.Verb = "server-side apply"
		if err == nil {
			changed.Fields = trace.Diff(old, obj)
		}
	}
	var out Object
	r.actor.world.under(r.actor.Emit(ref, changed), func() {
		if err == nil {
			out, err = r.server.apply(r, k, old, obj)
		}
		if err != nil {
			r.actor.Emit(ref, trace.Wrote{Verb: "patch", Code: codeOf(err), Error: err.Error()})
		}
	})
	return out, err
}

// merge is the object that an applied configuration asks for, with its owners.
// old is nil where there is none yet.
func (s *server) merge(k *kind, old Object, config *unstructured.Unstructured, opts ApplyOptions) (Object, error) {
	m, err := s.owners.manager(k, "")
	if err != nil {
		return nil, err
	}
	live := k.fresh()
	if old != nil {
		live = old.DeepCopyObject().(Object)
	}
	merged, err := m.Apply(live, config, opts.FieldManager, opts.Force)
	if err != nil {
		return nil, err
	}
	obj, ok := merged.(Object)
	if !ok {
		return nil, fmt.Errorf("the simulated server stores no %T", merged)
	}
	obj.GetObjectKind().SetGroupVersionKind(live.GetObjectKind().GroupVersionKind())
	obj.SetManagedFields(s.owners.timed(obj.GetManagedFields(), live.GetManagedFields()))
	if old != nil && untimed(obj.GetManagedFields(), old.GetManagedFields()) && sameButOwners(k, obj, old) {
		obj.SetManagedFields(old.GetManagedFields())
	}
	return obj, nil
}

func sameButOwners(k *kind, obj, old Object) bool {
	a, b := k.clone(obj), k.clone(old)
	a.SetManagedFields(nil)
	b.SetManagedFields(nil)
	return equality.Semantic.DeepEqual(a, b)
}

// apply stores what merge made.
func (s *server) apply(r requester, k *kind, old, obj Object) (Object, error) {
	if old == nil {
		return s.create(r, k, obj)
	}
	return s.change(r, write{kind: k, verb: "patch", code: http.StatusOK, obj: obj, old: old, applied: true})
}
