package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
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
			f.inbox.listing(s.name())
			return s.list(ctx, with(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := s.watch(ctx, with(o))
			if err != nil {
				return nil, err
			}
			lists := o.SendInitialEvents != nil && *o.SendInitialEvents
			if lists {
				f.inbox.listing(s.name())
			} else {
				f.inbox.regain(s.name())
			}
			return f.attend(w, s.name()), nil
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

// name tells a watch from the others.
func (s source) name() string { return s.resource + " " + s.namespace + " " + s.options.FieldSelector }

// attend passes on what a watch brings, and notes the end of its list, where it
// begins with one, and its own.
func (f *Follower) attend(w watch.Interface, name string) watch.Interface {
	events := make(chan watch.Event)
	out := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer f.inbox.lose(name)
		defer w.Stop()
		for e := range w.ResultChan() {
			if endsList(e) {
				f.inbox.regain(name)
			}
			select {
			case events <- e:
			case <-out.StopChan():
				return
			}
		}
	}()
	return stopping{out, w}
}

// stopping stops the watch underneath with the one that passes it on.
type stopping struct {
	*watch.ProxyWatcher
	under watch.Interface
}

// Stop ends both.
func (s stopping) Stop() {
	s.ProxyWatcher.Stop()
	s.under.Stop()
}

// endsList reports whether a watch that begins with a list has told all of it.
func endsList(e watch.Event) bool {
	obj, ok := e.Object.(metav1.Object)
	return ok && e.Type == watch.Bookmark && obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
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
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return nil
	case apierrors.IsUnauthorized(err):
		return errors.New("the API server does not accept the credentials any more: trying again")
	case errors.As(err, &request): // its address tells nothing that people need
		return fmt.Errorf("the API server cannot be reached: %w: trying again", request.Err)
	}
	return fmt.Errorf("watching %s: %w", resource, err)
}

func (f *Follower) handler() cache.ResourceEventHandler {
	put := func(verb engine.Verb, obj any, initial bool) {
		last, missed := obj.(cache.DeletedFinalStateUnknown)
		if missed {
			obj = last.Obj
		}
		if o, ok := obj.(Object); ok {
			f.inbox.put(arrival{verb: verb, obj: o, initial: initial, missed: missed, at: time.Now()})
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { put(engine.Added, obj, initial) },
		UpdateFunc: func(_, obj any) { put(engine.Modified, obj, false) },
		DeleteFunc: func(obj any) { put(engine.Deleted, obj, false) },
	}
}
