package sim

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// server is the API server: for every request it defaults, admits, prepares,
// validates, stores and tells, in the real server's order (spec §3.6).
type server struct {
	world     *World
	store     *store
	admitters []Admitter
	templates templates
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
	req := &Request{Verb: "create", Resource: k.resource, Actor: r.actor.name, New: obj, Now: s.world.loop.now, World: s.store}
	for _, a := range s.admitters {
		if err := a.Mutate(req); err != nil {
			return nil, err
		}
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
		if !apierrors.IsAlreadyExists(err) || in.GetName() != "" {
			return nil, err
		}
		if attempt == nameAttempts {
			return nil, apierrors.NewGenerateNameConflict(k.groupResource(), obj.GetName(), 1)
		}
	}
}

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
	if old, exists := s.store.Get(k.resource, obj.GetNamespace(), obj.GetName()); exists {
		err := apierrors.NewAlreadyExists(k.groupResource(), obj.GetName())
		if old.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return err
	}
	s.commit(r, write{kind: k, verb: "create", code: http.StatusCreated, obj: obj})
	return nil
}

func (s *server) update(r requester, k *kind, in Object, subresource string) (Object, error) {
	old, ok := s.store.Get(k.resource, in.GetNamespace(), in.GetName())
	if !ok {
		return nil, notFound(k, in.GetName())
	}
	if uid := in.GetUID(); uid != "" && uid != old.GetUID() {
		return nil, apierrors.NewConflict(k.groupResource(), in.GetName(), uidMismatch(uid, old.GetUID()))
	}
	if rv := in.GetResourceVersion(); rv != "" && rv != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(k.groupResource(), in.GetName(), errStale)
	}
	obj := s.prepareUpdate(k, in, old, subresource)
	req := &Request{Verb: "update", Resource: k.resource, Subresource: subresource, Actor: r.actor.name, Old: old, New: obj, Now: s.world.loop.now, World: s.store}
	for _, a := range s.admitters {
		if err := a.Mutate(req); err != nil {
			return nil, err
		}
	}
	if err := s.validateUpdate(k, req.New, old, subresource); err != nil {
		return nil, err
	}
	for _, a := range s.admitters {
		if err := a.Validate(req); err != nil {
			return nil, err
		}
	}
	return s.replace(r, write{kind: k, verb: "update", subresource: subresource, code: http.StatusOK, obj: req.New, old: old})
}

// replace stores a changed object. A write that changes nothing keeps the
// version and wakes nobody; one that takes the last finalizer off a deleted
// object removes it.
func (s *server) replace(r requester, w write) (Object, error) {
	if unchanged(w.obj, w.old) {
		r.actor.Emit(RefOf(w.old), trace.Wrote{Verb: w.verb, Subresource: w.subresource, ResourceVersion: w.old.GetResourceVersion(), Code: w.code})
		return w.old, nil
	}
	s.commit(r, w)
	if w.obj.GetDeletionTimestamp() != nil && len(w.obj.GetFinalizers()) == 0 && len(w.old.GetFinalizers()) > 0 && graceOver(w.obj) {
		s.erase(r, w.kind, w.obj)
	}
	return w.obj, nil
}

func graceOver(obj Object) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

func uidMismatch(got, have types.UID) error {
	return errors.New("Precondition failed: UID in precondition: " + string(got) + ", UID in object meta: " + string(have))
}

// bind assigns a pod to a node: the binding subresource.
func (r requester) bind(pod *corev1.Pod, node string) (*corev1.Pod, error) {
	s, k := r.server, kindByResource[Pods]
	old, ok := s.store.Get(Pods, pod.Namespace, pod.Name)
	if !ok || old.GetUID() != pod.UID {
		return nil, r.failed(k, "create", "binding", pod, notFound(k, pod.Name))
	}
	obj := k.clone(old).(*corev1.Pod)
	switch {
	case obj.DeletionTimestamp != nil:
		err := apierrors.NewConflict(k.groupResource(), pod.Name, errors.New("pod "+pod.Name+" is being deleted, cannot be assigned to a host"))
		return nil, r.failed(k, "create", "binding", pod, err)
	case obj.Spec.NodeName != "":
		err := apierrors.NewConflict(k.groupResource(), pod.Name, errors.New("pod "+pod.Name+" is already assigned to node \""+obj.Spec.NodeName+"\""))
		return nil, r.failed(k, "create", "binding", pod, err)
	}
	obj.Spec.NodeName = node
	obj.Status.Conditions = withCondition(obj.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, ObservedGeneration: obj.Generation, LastTransitionTime: s.world.now(),
	})
	s.commit(r, write{kind: k, verb: "create", subresource: "binding", code: http.StatusCreated, obj: obj, old: old})
	return obj, nil
}

// withCondition returns the conditions with one set; the given slice is left alone.
func withCondition(conditions []corev1.PodCondition, c corev1.PodCondition) []corev1.PodCondition {
	out := make([]corev1.PodCondition, 0, len(conditions)+1)
	found := false
	for _, have := range conditions {
		if have.Type == c.Type {
			if have.Status == c.Status {
				c.LastTransitionTime = have.LastTransitionTime
			}
			have, found = c, true
		}
		out = append(out, have)
	}
	if !found {
		out = append(out, c)
	}
	return out
}

// write is one change about to be stored.
type write struct {
	kind              *kind
	verb, subresource string
	code              int
	obj, old          Object // old is nil for a creation
}

// commit gives a write its version, traces it with what it changed and tells the watches.
func (s *server) commit(r requester, w write) {
	w.obj.SetResourceVersion(s.store.nextVersion())
	ref := RefOf(w.obj)
	cause := s.world.writeCause(w.subresource)
	seq := s.world.emit(trace.Event{Cause: cause, Actor: r.actor.name, Object: ref, Detail: trace.Wrote{
		Verb: w.verb, Subresource: w.subresource, ResourceVersion: w.obj.GetResourceVersion(), Code: w.code,
	}})
	s.world.written(w, r.actor, seq, cause)
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
