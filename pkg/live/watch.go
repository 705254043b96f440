package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// source is one thing to watch.
type source struct {
	resource  string
	namespace string
	example   runtime.Object
	options   metav1.ListOptions // selectors
	needed    bool               // without it there is nothing to follow
	list      func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch     func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// watch starts all watches and waits until each has told what there is.
func (f *Follower) watch(ctx context.Context) error {
	var begun []func() error
	for _, s := range f.sources() {
		begun = append(begun, f.start(ctx, s))
	}
	for _, wait := range begun {
		if err := wait(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Follower) sources() []source {
	var out []source
	seen := map[string]int{}
	for _, ref := range f.options.Workloads {
		seen[ref.Namespace]++
	}
	for _, ref := range f.options.Workloads {
		if ref.Kind == "Deployment" {
			all := f.cluster.apps.Deployments(ref.Namespace)
			s := source{resource: "deployments", namespace: ref.Namespace, example: &appsv1.Deployment{}, needed: true, watch: all.Watch, list: listing(all.List)}
			s.options.FieldSelector = fields.OneTermEqualSelector("metadata.name", ref.Name).String()
			out = append(out, s)
		}
		if seen[ref.Namespace] == 0 {
			continue // its objects are watched already
		}
		var owned metav1.ListOptions
		if only := seen[ref.Namespace] == 1; only && f.options.Selectors[ref] != nil {
			owned.LabelSelector = metav1.FormatLabelSelector(f.options.Selectors[ref])
		}
		seen[ref.Namespace] = 0
		out = append(out, f.parts(ref, owned)...)
	}
	return out
}

// parts are the watches for what belongs to the workloads of a namespace. A
// bare ReplicaSet need not have the labels of its pods.
func (f *Follower) parts(ref trace.Ref, owned metav1.ListOptions) []source {
	ns := ref.Namespace
	sets, pods, events := f.cluster.apps.ReplicaSets(ns), f.cluster.core.Pods(ns), f.cluster.core.Events(ns)
	bare := ref.Kind == "ReplicaSet"
	ofSets := owned
	if bare {
		ofSets = metav1.ListOptions{}
	}
	return []source{
		{"replicasets", ns, &appsv1.ReplicaSet{}, ofSets, bare, listing(sets.List), sets.Watch},
		{"pods", ns, &corev1.Pod{}, owned, false, listing(pods.List), pods.Watch},
		{"events", ns, &corev1.Event{}, metav1.ListOptions{}, false, listing(events.List), events.Watch},
	}
}

func listing[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) }
}

// failed tells of a failed watch unless it is one that ends as watches do.
func (f *Follower) failed(resource string, err error) {
	if err := watchProblem(resource, err); err != nil {
		f.options.Problem(err)
	}
}

// watchProblem is what there is to tell of a failed watch, which is tried again:
// nothing of one that ends as watches do, and of a server that cannot be reached
// or lets nobody in the same for all.
func watchProblem(resource string, err error) error {
	var request *url.Error
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return nil
	case apierrors.IsUnauthorized(err):
		return errors.New("the API server does not accept the credentials any more: trying again")
	case errors.As(err, &request): // its address tells nothing that people need
		return fmt.Errorf("the API server cannot be reached: %w: trying again", request.Err)
	}
	return fmt.Errorf("watching %s: %w", resource, err)
}
