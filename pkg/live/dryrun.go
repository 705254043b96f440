package live

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var (
	dryRun     = []string{metav1.DryRunAll}
	parameters = scheme.ParameterCodec
)

// Patch is a change to a Deployment or ReplicaSet.
type Patch struct {
	Ref          trace.Ref
	Type         types.PatchType
	Data         []byte
	Subresource  string // "scale", or empty
	FieldManager string

	strict bool
	force  *bool
}

// Patch is a dry run of a patch. With a subresource, the answer's object is
// nil when the server agrees. Errors are the server's, in kubectl's words.
func (c *Cluster) Patch(ctx context.Context, p Patch) (Answer, error) {
	return c.patch(ctx, p, nil, func(err error) error { return err })
}

// patch does not ask about a patch that changes nothing: the answer is live.
func (c *Cluster) patch(ctx context.Context, p Patch, live Object, about func(error) error) (Answer, error) {
	if live != nil && string(p.Data) == "{}" {
		return Answer{Object: live}, nil
	}
	if live != nil && live.GetDeletionTimestamp() != nil {
		c.said.add(fmt.Sprintf("Detected changes to resource %s which is currently being deleted.", live.GetName()))
	}
	opts := metav1.PatchOptions{DryRun: dryRun, FieldManager: p.FieldManager, Force: p.force}
	if p.strict {
		opts.FieldValidation = metav1.FieldValidationStrict
	}
	request := c.apps.RESTClient().Patch(p.Type).Namespace(p.Ref.Namespace).Resource(resourceOf(p.Ref.Kind)).Name(p.Ref.Name).
		VersionedParams(&opts, parameters).Body(p.Data)
	if p.Subresource == "" {
		return answer(ctx, request, p.Ref, "patch", about)
	}
	err := request.SubResource(p.Subresource).Do(ctx).Error()
	if notAllowed(err, "patch") {
		return Answer{Refused: "patch " + resourceOf(p.Ref.Kind) + "/" + p.Subresource}, nil
	}
	return Answer{}, explain(about(err))
}

// answer sends a request that is answered with the object.
func answer(ctx context.Context, request *rest.Request, ref trace.Ref, verb string, about func(error) error) (Answer, error) {
	var out Object = &appsv1.Deployment{}
	if ref.Kind == "ReplicaSet" {
		out = &appsv1.ReplicaSet{}
	}
	err := request.Do(ctx).Into(out)
	if notAllowed(err, verb) {
		return Answer{Refused: verb + " " + resourceOf(ref.Kind)}, nil
	}
	if err != nil {
		return Answer{}, explain(about(err))
	}
	out.GetObjectKind().SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(ref.Kind))
	return Answer{Object: out}, nil
}
