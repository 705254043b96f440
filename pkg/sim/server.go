package sim

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// server is the API server: for every request it defaults, admits, prepares,
// validates, stores and tells, in the real server's order (registry/rest, registry/generic).
type server struct {
	world     *World
	store     *store
	admitters []Admitter
	templates templates
	sound     *validate.Memory
	owners    *ownership // nil where nobody applies server-side
}

// requester is the server in the hands of one actor.
type requester struct {
	server *server
	actor  *actor
}

// errStale is the text of a write against an older version of the object.
var errStale = errors.New("the object has been modified; please apply your changes to the latest version and try again")

func notFound(k *kind, name string) error { return apierrors.NewNotFound(k.groupResource(), name) }

// create stores a new object.
func (r requester) create(obj Object) (Object, error) {
	k := kindOf(obj)
	out, err := r.server.create(r, k, obj)
	return out, r.failed(k, "create", "", obj, err)
}

// update replaces an object's main part, or its status.
func (r requester) update(obj Object, subresource string) (Object, error) {
	return r.updateOwn(kindOf(obj).clone(obj), subresource)
}

// updateOwn is update of an object that the caller leaves to the server.
func (r requester) updateOwn(obj Object, subresource string) (Object, error) {
	k := kindOf(obj)
	out, err := r.server.update(r, k, obj, subresource)
	return out, r.failed(k, "update", subresource, obj, err)
}

// failed traces a request that was refused and returns its error.
func (r requester) failed(k *kind, verb, subresource string, obj Object, err error) error {
	if err != nil {
		ref := trace.Ref{Kind: k.gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		r.actor.Emit(ref, trace.Wrote{Verb: verb, Subresource: subresource, Code: codeOf(err), Error: err.Error()})
	}
	return err
}

func codeOf(err error) int {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return http.StatusInternalServerError
}

func (s *server) create(r requester, k *kind, in Object) (Object, error) {
	obj := k.clone(in)
	s.templates.fill(obj)
	req := &Request{Verb: "create", Resource: k.resource, Actor: r.actor.name, New: obj, Now: s.world.loop.Now(), World: s.store, Wait: s.wait}
	if err := s.mutate(req); err != nil {
		return nil, err
	}
	obj = req.New
	s.prepareCreate(k, obj)
	for attempt := 1; ; attempt++ {
		if in.GetName() == "" && in.GetGenerateName() != "" {
			obj.SetName(generateName(s.store.names, in.GetGenerateName()))
		}
		err := s.insert(r, k, req)
		if err == nil {
			return obj, nil
		}
		if !apierrors.IsAlreadyExists(err) || in.GetName() != "" || attempt == nameAttempts {
			return nil, err
		}
	}
}

// mutate runs mutating admission. What a webhook made of an object is defaulted again.
func (s *server) mutate(req *Request) error {
	for _, a := range s.admitters {
		before := req.New
		if err := a.Mutate(req); err != nil {
			return err
		}
		if req.New != before {
			s.templates.fill(req.New)
		}
	}
	return nil
}

// wait parks the controller's call at hand. People and plugins do not wait.
func (s *server) wait(d time.Duration) {
	if t := s.world.running; t != nil {
		t.sleepUntil(s.world.loop.after(d))
	}
}

// errVersionAtCreate is the text of a creation that names a version.
const errVersionAtCreate = "resourceVersion should not be set on objects to be created"

// insert validates a prepared object under its final name and stores it.
func (s *server) insert(r requester, k *kind, req *Request) error {
	obj := req.New
	if err := s.validateCreate(k, obj); err != nil {
		return err
	}
	for _, a := range s.admitters {
		if err := a.Validate(req); err != nil {
			return err
		}
	}
	if obj.GetResourceVersion() != "" {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: errVersionAtCreate,
		}}
	}
	if old, exists := s.store.get(k, obj.GetNamespace(), obj.GetName()); exists {
		err := apierrors.NewAlreadyExists(k.groupResource(), obj.GetName())
		if obj.GetGenerateName() != "" { // given a name as well, too
			err = apierrors.NewGenerateNameConflict(k.groupResource(), obj.GetName(), 1)
		}
		if old.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return err
	}
	w := write{kind: k, verb: "create", code: http.StatusCreated, obj: obj}
	if s.owners != nil && len(obj.GetManagedFields()) == 0 {
		s.owners.wrote(r.actor.name, w)
	}
	s.commit(r, w)
	return nil
}

// update takes an object that is the server's to change.
func (s *server) update(r requester, k *kind, obj Object, subresource string) (Object, error) {
	old, ok := s.store.get(k, obj.GetNamespace(), obj.GetName())
	if !ok {
		return nil, notFound(k, obj.GetName())
	}
	if uid := obj.GetUID(); uid != "" && uid != old.GetUID() {
		return nil, uidConflict(k, k.groupResource(), old, uid)
	}
	if subresource == "" {
		s.templates.refill(obj, old)
	}
	return s.change(r, write{kind: k, verb: "update", subresource: subresource, code: http.StatusOK, obj: obj, old: old})
}

// change takes a changed object from mutating admission to storage, in the
// server's order: a webhook sees a stale write before it is refused.
func (s *server) change(r requester, w write) (Object, error) {
	req := &Request{Verb: "update", Resource: w.kind.resource, Subresource: w.subresource, Actor: r.actor.name, Old: w.old, New: w.obj, Now: s.world.loop.Now(), World: s.store}
	if err := s.mutate(req); err != nil {
		return nil, err
	}
	w.obj = req.New
	if version := w.obj.GetResourceVersion(); version != "" && version != w.old.GetResourceVersion() {
		return nil, apierrors.NewConflict(w.kind.groupResource(), w.old.GetName(), errStale)
	}
	s.prepareUpdate(w.obj, w.old, w.subresource)
	if err := s.validateUpdate(w.kind, w.obj, w.old, w.subresource); err != nil {
		return nil, err
	}
	for _, a := range s.admitters {
		if err := a.Validate(req); err != nil {
			return nil, err
		}
	}
	if s.owners != nil && !w.applied {
		s.owners.wrote(r.actor.name, w)
	}
	return s.replace(r, w)
}

// replace stores a changed object. A write that changes nothing keeps the
// version and wakes nobody; one that takes the last finalizer off a deleted
// object is not stored but removes the object as it was.
func (s *server) replace(r requester, w write) (Object, error) {
	if w.old.GetDeletionTimestamp() != nil && len(w.obj.GetFinalizers()) == 0 && graceOver(w.old) {
		r.actor.Emit(RefOf(w.old), trace.Wrote{Verb: w.verb, Subresource: w.subresource, ResourceVersion: w.old.GetResourceVersion(), Code: w.code})
		s.erase(r, w.kind, w.old)
		return w.obj, nil
	}
	if unchanged(w.obj, w.old) {
		r.actor.Emit(RefOf(w.old), trace.Wrote{Verb: w.verb, Subresource: w.subresource, ResourceVersion: w.old.GetResourceVersion(), Code: w.code})
		return w.old, nil
	}
	s.commit(r, w)
	return w.obj, nil
}

func graceOver(obj Object) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// uidConflict refuses a write that was meant for another object of the name.
// It shows the key in etcd, as the real server does.
func uidConflict(k *kind, gr schema.GroupResource, old Object, asked types.UID) error {
	return apierrors.NewConflict(gr, old.GetName(), fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: /registry/%s/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		k.resource, old.GetNamespace(), old.GetName(), asked, old.GetUID()))
}

// write is one change about to be stored.
type write struct {
	kind              *kind
	verb, subresource string
	code              int
	obj, old          Object // old is nil for a creation
	applied           bool   // its owners are known already
}

// commit gives a write its version, traces it with what it changed and tells the watches.
func (s *server) commit(r requester, w write) {
	w.obj.SetResourceVersion(s.store.nextVersion())
	ref := RefOf(w.obj)
	cause := s.world.writeCause(w.subresource)
	seq := s.world.emit(trace.Event{Cause: cause, Actor: r.actor.name, Object: ref, Detail: trace.Wrote{
		Verb: w.verb, Subresource: w.subresource, ResourceVersion: w.obj.GetResourceVersion(), Code: w.code,
	}})
	s.world.written(&w, ref, r.actor.name, seq, cause)
	s.store.put(w.kind, w.obj, seq)
}

// erase removes an object from storage.
func (s *server) erase(r requester, k *kind, obj Object) {
	last := k.clone(obj)
	last.SetResourceVersion(s.store.nextVersion())
	ref := RefOf(obj)
	seq := s.world.emit(trace.Event{Cause: s.world.cause, Actor: r.actor.name, Object: ref, Detail: trace.Removed{Owner: ownerRefOf(obj)}})
	s.store.remove(k, last, seq)
	s.world.touched(obj)
}
