package worlds

import (
	"errors"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// faults are API errors to come. Their texts name no object: upstream reports
// whichever of several failures arrives first.
type faults struct{ pending []*fault }

type fault struct {
	verb, resource, sub string // sub "*" is any
	kind                string
	skip, times         int
}

// lost is a write that takes place although its answer is an error.
const lost = "lost"

var faultKinds = []string{"conflict", "forbidden", "notfound", "exists", "internal", "timeout", "invalid", "terminating", lost}

// add puts a fault in the place of an earlier one of the same requests: of two
// kinds of failure side by side upstream would report either.
func (f *faults) add(x *fault) {
	f.pending = slices.DeleteFunc(f.pending, func(y *fault) bool { return y.verb == x.verb && y.resource == x.resource })
	f.pending = append(f.pending, x)
}

// injected lets a fault answer instead of the server.
func injected[T any](f *faults, verb, resource, sub string, do func() (T, error)) (T, error) {
	var none T
	kind := f.draw(verb, resource, sub)
	switch kind {
	case "":
		return do()
	case lost:
		if out, err := do(); err != nil {
			return out, err
		}
	}
	return none, failure(kind, schema.GroupResource{Resource: resource})
}

func (f *faults) draw(verb, resource, sub string) string {
	if f == nil {
		return ""
	}
	for _, x := range f.pending {
		if x.verb != verb || x.resource != resource || (x.sub != "*" && x.sub != sub) || x.times == 0 {
			continue
		}
		if x.skip > 0 {
			x.skip--
			return ""
		}
		x.times--
		return x.kind
	}
	return ""
}

func failure(kind string, r schema.GroupResource) error {
	switch kind {
	case "conflict":
		return apierrors.NewConflict(r, "it", errors.New("injected"))
	case "forbidden":
		return apierrors.NewForbidden(r, "it", errors.New("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"))
	case "notfound":
		return apierrors.NewNotFound(r, "it")
	case "exists":
		return apierrors.NewAlreadyExists(r, "it")
	case "timeout":
		return apierrors.NewTimeoutError("injected", 0)
	case "invalid":
		return apierrors.NewInvalid(schema.GroupKind{Kind: "It"}, "it", nil)
	case "terminating":
		err := apierrors.NewForbidden(r, "it", errors.New("unable to create new content in namespace default because it is being terminated"))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Message: "namespace default is being terminated", Field: "metadata.namespace",
		})
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "Internal error occurred: injected",
	}}
}
