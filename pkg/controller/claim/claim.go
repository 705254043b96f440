// Package claim decides which objects an owner controls by controller
// reference: it takes orphans its selector matches, and lets go of objects its
// selector no longer matches.
package claim

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Claimer claims objects of one kind for one owner during one pass; make a new
// one for every pass. It follows upstream's pkg/controller/controller_ref_manager.go.
type Claimer[T metav1.Object] struct {
	Owner     metav1.Object
	OwnerKind schema.GroupVersionKind
	// Kind of the claimed objects, as error texts and the trace name it: Pod, ReplicaSet.
	Kind     string
	Selector labels.Selector
	// Fresh reads the owner from the API server, past the cache. It is called at
	// most once, before the first adoption, and its answer holds for the pass.
	Fresh func(ctx context.Context) (metav1.Object, error)
	// Patch applies a strategic merge patch to obj, which is the cached object.
	// The caller may note the resourceVersion of the answer here.
	Patch func(ctx context.Context, obj T, data []byte) error
	// Trace is told of adoptions and releases.
	Trace trace.Tracer

	checked  bool
	checkErr error
}

// Claim returns those of objs the owner controls, in their order, as they came:
// an adopted object is returned as it was before its patch. Every object is
// tried; the error aggregates all failures and the objects returned beside it
// are those claimed without one.
func (c *Claimer[T]) Claim(ctx context.Context, objs []T) ([]T, error) {
	claimed := make([]T, 0, len(objs))
	var errs []error
	for _, obj := range objs {
		ok, err := c.claim(ctx, obj)
		if err != nil {
			errs = append(errs, err)
		} else if ok {
			claimed = append(claimed, obj)
		}
	}
	return claimed, utilerrors.NewAggregate(errs)
}

// claim is upstream's ClaimObject: whether obj belongs to the owner after this call.
func (c *Claimer[T]) claim(ctx context.Context, obj T) (bool, error) {
	matches := c.Selector.Matches(labels.Set(obj.GetLabels()))
	deleting := c.Owner.GetDeletionTimestamp() != nil
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		switch {
		case ref.UID != c.Owner.GetUID():
			return false, nil
		case matches:
			return true, nil // also for an owner that is being deleted: this takes no write
		case deleting:
			return false, nil
		}
		return false, c.release(ctx, obj)
	}
	if deleting || !matches || obj.GetDeletionTimestamp() != nil {
		return false, nil
	}
	if ns := c.Owner.GetNamespace(); ns != "" && ns != obj.GetNamespace() {
		return false, nil
	}
	err := c.adopt(ctx, obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func (c *Claimer[T]) adopt(ctx context.Context, obj T) error {
	if err := c.mayAdopt(ctx); err != nil {
		// Not wrapped: a NotFound of the owner must not pass for one of obj.
		return fmt.Errorf("can't adopt %s %s/%s (%s): %v", c.Kind, obj.GetNamespace(), obj.GetName(), obj.GetUID(), err)
	}
	data, err := adoptPatch(c.Owner, c.OwnerKind, obj.GetUID())
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, obj, data); err != nil {
		return err
	}
	c.Trace.Emit(c.ref(obj), trace.Adopted{Owner: c.ownerRef()})
	return nil
}

// release tolerates NotFound, and Invalid, which the server answers when the
// uid in the patch is no longer the object's or it has no owner at all.
func (c *Claimer[T]) release(ctx context.Context, obj T) error {
	data, err := releasePatch(c.Owner.GetUID(), obj.GetUID())
	if err != nil {
		return err
	}
	err = c.Patch(ctx, obj, data)
	switch {
	case err == nil:
		c.Trace.Emit(c.ref(obj), trace.Released{Owner: c.ownerRef()})
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err):
		return nil
	}
	return err
}

// mayAdopt asks the server once whether the owner is still itself and alive,
// since the cache may be older than its deletion.
func (c *Claimer[T]) mayAdopt(ctx context.Context) error {
	if !c.checked {
		c.checked, c.checkErr = true, c.check(ctx)
	}
	return c.checkErr
}

func (c *Claimer[T]) check(ctx context.Context) error {
	fresh, err := c.Fresh(ctx)
	if err == nil && fresh.GetUID() != c.Owner.GetUID() {
		err = fmt.Errorf("original %s %s/%s is gone: got uid %s, wanted %s", c.OwnerKind.Kind,
			c.Owner.GetNamespace(), c.Owner.GetName(), fresh.GetUID(), c.Owner.GetUID())
	}
	if err != nil {
		return fmt.Errorf("can't recheck DeletionTimestamp: %v", err)
	}
	if at := fresh.GetDeletionTimestamp(); at != nil {
		return fmt.Errorf("%s/%s has just been deleted at %v", fresh.GetNamespace(), fresh.GetName(), at)
	}
	return nil
}

func (c *Claimer[T]) ref(obj T) trace.Ref {
	return trace.Ref{Kind: c.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func (c *Claimer[T]) ownerRef() trace.Ref {
	return trace.Ref{Kind: c.OwnerKind.Kind, Namespace: c.Owner.GetNamespace(), Name: c.Owner.GetName()}
}
