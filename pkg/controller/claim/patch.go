package claim

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The uid in both patches makes the server refuse them when the object was
// deleted and made anew under the same name.
type (
	adoption struct {
		Metadata struct {
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
			UID             types.UID               `json:"uid"`
		} `json:"metadata"`
	}
	liberation struct {
		Metadata struct {
			UID             types.UID      `json:"uid"`
			OwnerReferences []ownerRemoval `json:"ownerReferences"`
		} `json:"metadata"`
	}
	ownerRemoval struct {
		Directive string    `json:"$patch"`
		UID       types.UID `json:"uid"`
	}
)

func adoptPatch(owner metav1.Object, kind schema.GroupVersionKind, uid types.UID) ([]byte, error) {
	var p adoption
	p.Metadata.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
	p.Metadata.UID = uid
	return json.Marshal(p)
}

func releasePatch(owner, uid types.UID) ([]byte, error) {
	var p liberation
	p.Metadata.UID = uid
	p.Metadata.OwnerReferences = []ownerRemoval{{Directive: "delete", UID: owner}}
	return json.Marshal(p)
}
