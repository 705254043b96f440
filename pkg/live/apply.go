package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubectl/pkg/util"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// ApplyOptions are the flags of kubectl apply.
type ApplyOptions struct {
	ServerSide     bool
	FieldManager   string // empty means kubectl's own
	ForceConflicts bool
}

// Manifest is an object to apply.
type Manifest struct {
	Ref    trace.Ref // a Deployment or ReplicaSet, with its namespace
	JSON   []byte    // as the user wrote it
	Source string    // the file, for errors
}

// Answer is what the server makes of a change.
type Answer struct {
	// Object is the object as it would be stored; nil when the user may not
	// make the change, so that the server gave no answer.
	Object Object
	// Refused says what the user may not do; empty with an Object.
	Refused string
}

// The field managers of kubectl apply.
const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
)

// Apply is a dry run of kubectl apply: by the three-way merge of the manifest
// with what was applied last and what is there (live, nil when nothing is), or
// with ServerSide by the server's own. Errors are the server's, in kubectl's words.
// Upstream: kubectl pkg/cmd/apply applyOneObject and Patcher.
func (c *Cluster) Apply(ctx context.Context, m Manifest, live Object, opts ApplyOptions) (Answer, error) {
	manifest := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(m.JSON, &manifest.Object); err != nil {
		return Answer{}, fmt.Errorf("reading %s: %w", m.Source, err)
	}
	manifest.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(m.Ref.Kind)) // an item of a list need not say it
	manifest.SetNamespace(m.Ref.Namespace)
	switch {
	case opts.ServerSide:
		return c.applyServerSide(ctx, m, manifest, opts)
	case live == nil:
		return c.create(ctx, m, manifest, manager(opts, clientSideManager))
	}
	return c.applyClientSide(ctx, m, manifest, live, manager(opts, clientSideManager))
}

func manager(opts ApplyOptions, usual string) string {
	if opts.FieldManager != "" {
		return opts.FieldManager
	}
	return usual
}

func (c *Cluster) create(ctx context.Context, m Manifest, manifest *unstructured.Unstructured, manager string) (Answer, error) {
	if err := util.CreateApplyAnnotation(manifest, unstructured.UnstructuredJSONScheme); err != nil {
		return Answer{}, fmt.Errorf("encoding %s: %w", m.Source, err)
	}
	prune(manifest.Object)
	data, err := json.Marshal(manifest)
	if err != nil {
		return Answer{}, fmt.Errorf("encoding %s: %w", m.Source, err)
	}
	opts := metav1.CreateOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}
	request := c.apps.RESTClient().Post().Namespace(m.Ref.Namespace).Resource(resourceOf(m.Ref.Kind)).
		SetHeader("Content-Type", "application/json").VersionedParams(&opts, parameters).Body(data)
	return answer(ctx, request, m.Ref, "create", func(err error) error { return in("creating", m.Source, err) })
}

// prune takes nulls out of maps, as kubectl does before it creates.
func prune(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
			} else {
				prune(value)
			}
		}
	case []any:
		for _, item := range v {
			prune(item)
		}
	}
}

func (c *Cluster) applyClientSide(ctx context.Context, m Manifest, manifest *unstructured.Unstructured, live Object, manager string) (Answer, error) {
	if _, ok := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; !ok {
		c.said.add(fmt.Sprintf("resource %s is missing the %s annotation which is required by kubectl apply. "+
			"kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. "+
			"The missing annotation will be patched automatically.", resourceOf(m.Ref.Kind)+"/"+m.Ref.Name, corev1.LastAppliedConfigAnnotation))
	}
	patch, err := threeWay(manifest, live)
	if err != nil {
		return Answer{}, fmt.Errorf("merging %s with what is there: %w", m.Source, err)
	}
	if dropsReplicas(patch) {
		c.said.add(fmt.Sprintf("%s: replicas was in the manifest applied last and no longer is, so that it falls back to 1", m.Source))
	}
	return c.patch(ctx, Patch{Ref: m.Ref, Type: types.StrategicMergePatchType, Data: patch, FieldManager: manager, strict: true}, live,
		func(err error) error { return in("patching", m.Source, err) })
}

// threeWay is the patch of a client-side apply. The merge rules are those of
// the types compiled in, which for Deployments and ReplicaSets are the same as
// the server's published ones.
func threeWay(manifest *unstructured.Unstructured, live Object) ([]byte, error) {
	modified, err := util.GetModifiedConfiguration(manifest, true, unstructured.UnstructuredJSONScheme)
	if err != nil {
		return nil, err
	}
	original, err := util.GetOriginalConfiguration(live)
	if err != nil {
		return nil, err
	}
	current, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(live)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateThreeWayMergePatch(original, modified, current, schema, true)
}

// dropsReplicas reports whether a merge patch takes spec.replicas away.
func dropsReplicas(patch []byte) bool {
	var fields struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	err := json.Unmarshal(patch, &fields)
	value, ok := fields.Spec["replicas"]
	return err == nil && ok && string(value) == "null"
}

// conflictHelp follows the server's list of conflicts, in kubectl.
const conflictHelp = `
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the ` + "`--force-conflicts`" + ` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts`

func (c *Cluster) applyServerSide(ctx context.Context, m Manifest, manifest *unstructured.Unstructured, opts ApplyOptions) (Answer, error) {
	data, err := json.Marshal(manifest)
	if err != nil {
		return Answer{}, fmt.Errorf("encoding %s: %w", m.Source, err)
	}
	p := Patch{Ref: m.Ref, Type: types.ApplyPatchType, Data: data, FieldManager: manager(opts, serverSideManager), strict: true, force: &opts.ForceConflicts}
	return c.patch(ctx, p, nil, func(err error) error {
		if apierrors.IsConflict(err) {
			return &Error{"error: " + err.Error() + conflictHelp, err}
		}
		return err
	})
}

func resourceOf(kind string) string { return strings.ToLower(kind) + "s" }
