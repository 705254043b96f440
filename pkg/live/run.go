package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace/derive"
)

var _ engine.Host = &Host{}

// Ends that no object tells, in the words of trace.Ended.
const (
	endGone  = "Gone"
	endLimit = "Limit"
)

// lookEvery is how often Run looks at the caches.
const lookEvery = 100 * time.Millisecond

// Run makes a person's change and waits until the goal's workloads have ended
// one way or another, or the limit; a limit of zero is none. The host goes on
// driving afterwards. Errors are those of the change, of ctx and of the host.
func (h *Host) Run(ctx context.Context, g engine.Goal) (engine.Outcome, error) {
	if err := h.awaitReady(ctx); err != nil {
		return engine.Outcome{}, err
	}
	began, hand := h.clock.Now(), &hand{client: h.hands, written: map[trace.Ref]Object{}}
	if g.Begin != nil {
		if err := g.Begin(ctx, hand); err != nil {
			return engine.Outcome{}, err
		}
	}
	why, err := h.await(ctx, g, hand)
	if err != nil {
		return engine.Outcome{}, err
	}
	for _, ref := range g.Workloads {
		h.journal.emit(trace.Event{Actor: trace.ActorWorld, Object: ref, Detail: trace.Ended{Why: why}})
	}
	return engine.Outcome{Why: why, Duration: h.clock.Since(began)}, nil
}

// awaitReady is an error when the host does not run, or no more.
func (h *Host) awaitReady(ctx context.Context) error {
	select {
	case <-h.ready:
	case <-h.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-h.done:
		return h.ended()
	default:
		return nil
	}
}

// ended is why a host does not run, once it is done.
func (h *Host) ended() error {
	if h.err != nil {
		return h.err
	}
	return fmt.Errorf("the controllers were stopped")
}

func (h *Host) await(ctx context.Context, g engine.Goal, hand *hand) (string, error) {
	var limit <-chan time.Time
	if g.Limit > 0 {
		limit = time.After(g.Limit)
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if why := h.over(g.Workloads, hand); why != "" && !g.WholeLimit {
			return why, nil
		}
		select {
		case <-look.C:
		case <-limit:
			return endLimit, nil
		case <-ctx.Done():
			return "", ctx.Err()
		case <-h.done:
			return "", h.ended()
		}
	}
}

// over is the worst end of the workloads, or nothing while one has not ended.
func (h *Host) over(workloads []trace.Ref, hand *hand) string {
	ends := map[string]bool{}
	for _, ref := range workloads {
		end := h.endOf(ref, hand.last(ref))
		if end == "" {
			return ""
		}
		ends[end] = true
	}
	for _, end := range []string{rollout.EndDeadline, rollout.EndPaused, endGone} {
		if ends[end] {
			return end
		}
	}
	return rollout.EndComplete
}

// endOf says how a workload stands in the cache, once that holds what the person wrote.
func (h *Host) endOf(ref trace.Ref, written Object) string {
	d, rs, err := h.workload(ref)
	switch {
	case apierrors.IsNotFound(err) && written == nil:
		return endGone
	case err != nil:
		return ""
	case d != nil && (written == nil || !newer(written, d)):
		return rollout.DeploymentEnd(d)
	case rs != nil && (written == nil || !newer(written, rs)):
		return rollout.ReplicaSetEnd(rs)
	}
	return ""
}

func (h *Host) workload(ref trace.Ref) (d *appsv1.Deployment, rs *appsv1.ReplicaSet, err error) {
	if ref.Kind == "Deployment" {
		d, err = h.cache.Deployment(ref.Namespace, ref.Name)
		return d, nil, err
	}
	rs, err = h.cache.ReplicaSet(ref.Namespace, ref.Name)
	return nil, rs, err
}

// hand is the API as a person uses it, for Deployments and ReplicaSets.
type hand struct {
	client kubernetes.Interface

	mu      sync.Mutex
	written map[trace.Ref]Object // the last answer to each write
}

var _ engine.Hand = &hand{}

func (h *hand) last(ref trace.Ref) Object {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.written[ref]
}

func (h *hand) wrote(ref trace.Ref, obj Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written[ref] = obj
}

// Get reads a Deployment or ReplicaSet from the server.
func (h *hand) Get(ctx context.Context, ref trace.Ref) (runtime.Object, error) {
	switch ref.Kind {
	case "Deployment":
		return h.client.AppsV1().Deployments(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	case "ReplicaSet":
		return h.client.AppsV1().ReplicaSets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	return nil, noHand(ref.Kind)
}

func noHand(kind string) error {
	return fmt.Errorf("only Deployments and ReplicaSets can be changed, not %q", kind)
}

// Apply creates or replaces a Deployment or ReplicaSet.
func (h *hand) Apply(ctx context.Context, in runtime.Object) (runtime.Object, error) {
	var out Object
	var err error
	switch obj := in.DeepCopyObject().(type) {
	case *appsv1.Deployment:
		all := h.client.AppsV1().Deployments(obj.Namespace)
		out, err = put(ctx, obj, all.Get, all.Create, all.Update)
	case *appsv1.ReplicaSet:
		all := h.client.AppsV1().ReplicaSets(obj.Namespace)
		out, err = put(ctx, obj, all.Get, all.Create, all.Update)
	default:
		return nil, noHand(fmt.Sprintf("%T", in))
	}
	if err != nil {
		return nil, err
	}
	h.wrote(derive.Ref(out), out)
	return out, nil
}

// put creates an object, or replaces the one there whatever its version; what
// its owners and finalizers are stays.
func put[T Object](ctx context.Context, obj T,
	get func(context.Context, string, metav1.GetOptions) (T, error),
	create func(context.Context, T, metav1.CreateOptions) (T, error),
	update func(context.Context, T, metav1.UpdateOptions) (T, error),
) (T, error) {
	obj.SetResourceVersion("")
	old, err := get(ctx, obj.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return create(ctx, obj, metav1.CreateOptions{})
	case err != nil:
		return obj, err
	}
	obj.SetUID(old.GetUID())
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetFinalizers(old.GetFinalizers())
	return update(ctx, obj, metav1.UpdateOptions{})
}

// Delete removes a Deployment or ReplicaSet.
func (h *hand) Delete(ctx context.Context, ref trace.Ref, policy string) error {
	var opts metav1.DeleteOptions
	if policy != "" {
		p := metav1.DeletionPropagation(policy)
		opts.PropagationPolicy = &p
	}
	switch ref.Kind {
	case "Deployment":
		return h.client.AppsV1().Deployments(ref.Namespace).Delete(ctx, ref.Name, opts)
	case "ReplicaSet":
		return h.client.AppsV1().ReplicaSets(ref.Namespace).Delete(ctx, ref.Name, opts)
	}
	return noHand(ref.Kind)
}
