package change

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// Apply is what kubectl apply makes of a live object and a manifest: fields the
// manifest sets are set, fields that were applied before and are no longer in
// it go away, and what others have set stays. Before is the manifest applied
// last; nil means the one the live object's annotation holds.
// Upstream: kubectl pkg/cmd/apply/patcher.go buildStrategicMergePatch.
func Apply(live, wanted, before manifest.Object) (manifest.Object, error) {
	current, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", manifest.Name(live), err)
	}
	modified, err := intent(wanted)
	if err != nil {
		return nil, err
	}
	original := []byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	if before != nil {
		if original, err = intent(before); err != nil {
			return nil, err
		}
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(live)
	if err != nil {
		return nil, fmt.Errorf("reading the merge rules of %s: %w", manifest.Name(live), err)
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, modified, current, schema, true)
	if err != nil {
		return nil, fmt.Errorf("merging %s with what is there: %w", manifest.Name(live), err)
	}
	merged, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, schema)
	if err != nil {
		return nil, fmt.Errorf("merging %s with what is there: %w", manifest.Name(live), err)
	}
	out := fresh(live)
	if err := json.Unmarshal(merged, out); err != nil {
		return nil, fmt.Errorf("reading the merged %s: %w", manifest.Name(live), err)
	}
	out.GetObjectKind().SetGroupVersionKind(live.GetObjectKind().GroupVersionKind())
	return out, nil
}

// Remember returns obj with the annotation in which kubectl apply keeps the
// manifest it has applied.
// Upstream: kubectl pkg/util/apply.go GetModifiedConfiguration.
func Remember(obj, wanted manifest.Object) (manifest.Object, error) {
	applied, err := intent(wanted)
	if err != nil {
		return nil, err
	}
	out := obj.DeepCopyObject().(manifest.Object)
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(applied) + "\n"
	out.SetAnnotations(annotations)
	return out, nil
}

// intent is what a manifest says a person wants: no status, and none of what
// the API server writes into an exported object.
func intent(obj manifest.Object) ([]byte, error) {
	obj = obj.DeepCopyObject().(manifest.Object)
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	obj.SetUID("")
	obj.SetGeneration(0)
	obj.SetSelfLink("")
	obj.SetOwnerReferences(nil)
	if annotations := obj.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		obj.SetAnnotations(annotations)
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Status = appsv1.DeploymentStatus{}
	case *appsv1.ReplicaSet:
		o.Status = appsv1.ReplicaSetStatus{}
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", manifest.Name(obj), err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", manifest.Name(obj), err)
	}
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	return json.Marshal(fields)
}
