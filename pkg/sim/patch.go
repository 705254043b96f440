package sim

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

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
	old, ok := s.store.get(k, namespace, name)
	if !ok {
		return nil, notFound(k, name)
	}
	if patchType != types.StrategicMergePatchType {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the simulated server has no patch of type %s", patchType))
	}
	obj, err := merged(k, old, data)
	if err != nil {
		return nil, err
	}
	if err := misplaced(obj, namespace, name); err != nil {
		return nil, err
	}
	s.templates.fill(obj)
	return s.change(r, write{kind: k, verb: "patch", code: http.StatusOK, obj: obj, old: old})
}

// misplaced refuses a patch that renames its object.
func misplaced(obj Object, namespace, name string) error {
	if got := obj.GetNamespace(); got != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if got := obj.GetName(); got != name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", got, name))
	}
	return nil
}

// merged is the stored object with a strategic merge patch (upstream
// endpoints/handlers/patch.go, strategicPatchObject).
func merged(k *kind, old Object, data []byte) (Object, error) {
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	shown := fmt.Sprintf("%+v", patch) // merging takes directives out of it
	after, err := strategicpatch.StrategicMergeMapPatch(before, patch, old)
	if err != nil {
		return nil, unmergeable(err)
	}
	out := k.fresh()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(after, out); err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), shown, err.Error()),
		})
	}
	return out, nil
}

// unmergeable is the answer to a patch that is no patch.
func unmergeable(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return apierrors.NewBadRequest(err.Error())
}
