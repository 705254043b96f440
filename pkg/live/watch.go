package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
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
	var filled []func() error
	for _, s := range f.sources() {
		wait, err := f.start(ctx, s)
		if err != nil {
			return err
		}
		filled = append(filled, wait)
	}
	for _, wait := range filled {
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

// start runs an informer, which takes up an expired or broken watch by itself.
// The answer waits until it is filled, or is known not to be allowed.
func (f *Follower) start(ctx context.Context, s source) (func() error, error) {
	ctx, stop := context.WithCancel(ctx)
	with := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = s.options.LabelSelector, s.options.FieldSelector
		return o
	}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return s.list(ctx, with(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return s.watch(ctx, with(o))
		},
	}, s.example, 0, nil)
	refused := make(chan error, 1)
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			select {
			case refused <- err:
			default:
			}
			stop()
			return
		}
		f.failed(s.resource, err)
	})
	if err != nil {
		stop()
		return nil, err
	}
	handled, err := informer.AddEventHandler(f.handler())
	if err != nil {
		stop()
		return nil, err
	}
	f.ended.Go(func() { informer.RunWithContext(ctx) })
	return func() error {
		if cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
			return nil
		}
		return f.unwatched(ctx, s, refused)
	}, nil
}

// unwatched says why a watch was not filled. What is not needed is done without.
func (f *Follower) unwatched(ctx context.Context, s source, refused <-chan error) error {
	select {
	case err := <-refused:
		if s.needed {
			return err
		}
		f.options.Problem(fmt.Errorf("cannot watch %s: what they tell is not shown", s.resource))
		return nil
	default:
		return ctx.Err()
	}
}

// failed tells of a failed watch unless it is one that ends as watches do.
func (f *Follower) failed(resource string, err error) {
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
	default:
		f.options.Problem(fmt.Errorf("watching %s: %w", resource, err))
	}
}

func (f *Follower) handler() cache.ResourceEventHandler {
	put := func(verb engine.Verb, obj any, initial bool) {
		if last, missed := obj.(cache.DeletedFinalStateUnknown); missed {
			obj = last.Obj
		}
		if o, ok := obj.(Object); ok {
			f.inbox.put(arrival{verb: verb, obj: o, initial: initial, at: time.Now()})
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { put(engine.Added, obj, initial) },
		UpdateFunc: func(_, obj any) { put(engine.Modified, obj, false) },
		DeleteFunc: func(obj any) { put(engine.Deleted, obj, false) },
	}
}
