package sim

import (
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// patch applies a strategic merge patch to the object as it is stored now, so
// that it never conflicts. A uid in the patch that is not the object's is invalid.
func (r requester) patch(resource, namespace, name string, patchType types.PatchType, data []byte) (Object, error) {
	k := kindByResource[resource]
	out, err := r.server.patch(r, k, namespace, name, patchType, data)
	if err != nil {
		ref := trace.Ref{Kind: k.gvk.Kind, Namespace: namespace, Name: name}
		r.actor.Emit(ref, trace.Wrote{Verb: "patch", Code: codeOf(err), Error: err.Error()})
	}
	return out, err
}

func (s *server) patch(r requester, k *kind, namespace, name string, patchType types.PatchType, data []byte) (Object, error) {
	old, ok := s.store.Get(k.resource, namespace, name)
	if !ok {
		return nil, notFound(k, name)
	}
	if patchType != types.StrategicMergePatchType {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the simulated server has no patch of type %s", patchType))
	}
	patched, err := merged(k, old, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if patched.GetUID() != old.GetUID() {
		err := field.Invalid(field.NewPath("metadata", "uid"), string(patched.GetUID()), "field is immutable")
		return nil, apierrors.NewInvalid(k.gvk.GroupKind(), name, field.ErrorList{err})
	}
	obj := s.prepareUpdate(k, patched, old, "")
	if err := s.validateUpdate(k, obj, old, ""); err != nil {
		return nil, err
	}
	return s.replace(r, write{kind: k, verb: "patch", code: http.StatusOK, obj: obj, old: old})
}

func merged(k *kind, old Object, data []byte) (Object, error) {
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, data, old)
	if err != nil {
		return nil, err
	}
	out := k.fresh()
	return out, json.Unmarshal(after, out)
}
