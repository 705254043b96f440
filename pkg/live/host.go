package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Options are how a host runs. The zero value drives all namespaces at once,
// without a lease, and traces nothing.
type Options struct {
	// Namespace limits what is driven; empty means all.
	Namespace string
	// Lease, when set, is held while the controllers run.
	Lease *Lease
	// MinResync is the least time between two deliveries of what the caches
	// hold; zero is kube-controller-manager's 12 h.
	MinResync time.Duration
	// Grace is how long passes under way may go on after the end was asked for;
	// zero is 5 s.
	Grace time.Duration
	// Force goes on when another Deployment controller is noticed at work.
	Force bool
	// Trace is told of every event until Done, in order, one at a time. It must not block.
	Trace func(trace.Event)
	// Problem is told of failed passes and watches, by several goroutines. They
	// are tried again.
	Problem func(error)
}

// The values of Options that stand for zero.
const (
	minResync = 12 * time.Hour
	grace     = 5 * time.Second
)

// Host runs controllers against an API server, each with its own client limit,
// queue and workers over shared informers, as kube-controller-manager does.
type Host struct {
	options Options
	clock   clock.PassiveClock
	journal *journal
	guard   *guard
	cache   *informerCache
	runners []*runner
	hands   kubernetes.Interface // what a person's changes go through

	stop  context.CancelCauseFunc
	ready chan struct{}
	done  chan struct{}
	err   error // once done
}

// Start runs controllers against the API server of config until ctx ends, Stop
// is called, the lease is lost or another Deployment controller is noticed. It
// returns at once: Ready tells when they act. A Spec is for one start, since
// controllers remember what they wrote. Errors are those of config and options.
func Start(ctx context.Context, config *rest.Config, o Options, specs ...engine.Spec) (*Host, error) {
	ctx, stop := context.WithCancelCause(ctx)
	h := &Host{options: o.completed(), clock: clock.RealClock{}, stop: stop, ready: make(chan struct{}), done: make(chan struct{})}
	h.journal = newJournal(o.Trace, h.clock)
	h.guard = newGuard(nil)
	if !o.Force {
		h.guard.stop = stop
	}
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if err := h.prepare(ctx, config, specs); err != nil {
		stop(err)
		return nil, err
	}
	run := h.runAlone
	if o.Lease != nil {
		held := make(chan struct{})
		elector, err := o.Lease.completed().elector(config, func() { close(held) }, stop)
		if err != nil {
			stop(err)
			return nil, err
		}
		run = func(ctx context.Context) error { return whileLeading(ctx, elector, held, h.work) }
	}
	go h.run(ctx, run)
	return h, nil
}

func (o Options) completed() Options {
	if o.MinResync == 0 {
		o.MinResync = minResync
	}
	if o.Grace == 0 {
		o.Grace = grace
	}
	if o.Problem == nil {
		o.Problem = func(error) {}
	}
	return o
}

// Ready is closed once the caches are filled and the workers run.
func (h *Host) Ready() <-chan struct{} { return h.ready }

// Done is closed when nothing runs any more.
func (h *Host) Done() <-chan struct{} { return h.done }

// Wait waits for the end and says why it came: nil for the end of the context
// or Stop, an *OccupiedError, a *LeaseRefusedError, or ErrLeaseLost.
func (h *Host) Wait() error {
	<-h.done
	return h.err
}

// Stop ends the host in good order: no new pass begins, those under way are
// finished, and the lease is given up. It waits for all that.
func (h *Host) Stop() error {
	h.stop(nil)
	return h.Wait()
}

// prepare makes clients, informers and runners; no request is sent.
func (h *Host) prepare(ctx context.Context, config *rest.Config, specs []engine.Spec) error {
	shared, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "shared-informers"))
	if err != nil {
		return err
	}
	if err := h.prepareInformers(shared); err != nil {
		return err
	}
	if h.hands, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	for _, spec := range specs {
		client, err := kubernetes.NewForConfig(limited(config, spec))
		if err != nil {
			return err
		}
		if err := h.add(ctx, spec, client); err != nil {
			return err
		}
	}
	return nil
}

// limited is the configuration of a controller's own client.
func limited(config *rest.Config, spec engine.Spec) *rest.Config {
	config = rest.AddUserAgent(config, spec.Component)
	config.RateLimiter, config.QPS, config.Burst = nil, spec.QPS, spec.Burst
	if spec.QPS <= 0 {
		config.QPS = -1
	}
	return config
}

func (h *Host) prepareInformers(client kubernetes.Interface) error {
	// Between once and twice the least time, so that hosts do not resync together.
	resync := wait.Jitter(h.options.MinResync, 1)
	var err error
	if h.cache, err = newInformerCache(client, h.options.Namespace, resync); err != nil {
		return err
	}
	if h.journal != nil {
		h.journal.owned = h.cache.ReplicaSetsOf
	}
	for resource, informer := range h.cache.informers {
		if err := informer.SetWatchErrorHandlerWithContext(h.watchFailed(resource)); err != nil {
			return err
		}
	}
	return nil
}

// withoutManagers drops the record of who set what: nobody here reads it.
func withoutManagers(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok && o.GetManagedFields() != nil {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// watchFailed tells of a failed watch unless it is one that ends as watches do.
func (h *Host) watchFailed(resource string) cache.WatchErrorHandlerWithContext {
	return func(_ context.Context, _ *cache.Reflector, err error) {
		if err := watchProblem(resource, err); err != nil {
			h.options.Problem(err)
		}
	}
}

func (h *Host) add(ctx context.Context, spec engine.Spec, client kubernetes.Interface) error {
	if len(spec.Watches) == 0 {
		return fmt.Errorf("the controller %q watches nothing", spec.Name)
	}
	for _, resource := range spec.Watches {
		if h.cache.informers[resource] == nil {
			return fmt.Errorf("the controller %q watches %q, which no cache holds", spec.Name, resource)
		}
	}
	r := newRunner(context.WithoutCancel(ctx), h, spec, client)
	h.runners = append(h.runners, r)
	return r.watch()
}

// failed tells of a pass that ended in an error. Conflicts are how stale caches
// show, and are not worth a word.
func (h *Host) failed(ref trace.Ref, err error) {
	if !apierrors.IsConflict(err) && !errors.Is(err, context.Canceled) {
		h.options.Problem(fmt.Errorf("%s: %w", ref, err))
	}
}

func (h *Host) run(ctx context.Context, run func(context.Context) error) {
	defer close(h.done)
	h.err = run(ctx)
	var occupied *OccupiedError
	var refused *LeaseRefusedError
	if cause := context.Cause(ctx); h.err == nil && (errors.As(cause, &occupied) || errors.As(cause, &refused)) {
		h.err = cause
	}
	h.stop(nil)
	h.journal.close()
}

func (h *Host) runAlone(ctx context.Context) error {
	h.work(ctx, context.WithoutCancel(ctx))
	return nil
}

// work runs informers and workers until soft ends; then passes under way get
// their grace, unless hard ends.
func (h *Host) work(soft, hard context.Context) {
	watching, unwatch := context.WithCancel(hard)
	passes, cut := context.WithCancel(hard)
	defer cut()
	informersEnd := h.cache.start(watching)
	for _, r := range h.runners {
		r.recorder.start(r.client, h.journal, r.spec.Name)
	}
	var workers sync.WaitGroup
	if h.synced(soft, hard) {
		for _, r := range h.runners {
			for range r.spec.Workers {
				workers.Go(func() { r.work(soft, passes) })
			}
		}
		close(h.ready)
		select {
		case <-soft.Done():
		case <-hard.Done():
		}
	}
	for _, r := range h.runners {
		r.queue.ShutDown()
	}
	timer := time.AfterFunc(h.options.Grace, cut)
	workers.Wait()
	timer.Stop()
	for _, r := range h.runners {
		r.recorder.stop()
	}
	unwatch()
	informersEnd()
}

// synced waits until the informers have listed what there is.
func (h *Host) synced(soft, hard context.Context) bool {
	ctx, cancel := context.WithCancel(soft)
	defer cancel()
	defer context.AfterFunc(hard, cancel)()
	resources := []string{"deployments", "replicasets", "pods"}
	return !slices.ContainsFunc(resources, func(resource string) bool {
		return !cache.WaitForCacheSync(ctx.Done(), h.cache.informers[resource].HasSynced)
	})
}
