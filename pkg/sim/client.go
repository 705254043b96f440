package sim

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// client is a controller's API: each call waits for the client's rate limit,
// travels to the server, acts there at that moment, and travels back. While it
// waits, the rest of the world goes on.
type client struct {
	requester
	limiter *limiter
}

var _ engine.API = &client{}

// call runs one request with its times on the coroutine at hand.
func call[T Object](ctx context.Context, c *client, request func() (Object, error)) (T, error) {
	var none T
	w := c.actor.world
	t := w.running
	t.sleepUntil(c.limiter.reserve())
	latency := w.draw(CallLatency, c.actor.rand)
	t.sleepUntil(w.loop.after(latency / 2))
	if err := context.Cause(ctx); t.dead || err != nil {
		return none, context.Canceled
	}
	out, err := request()
	t.sleepUntil(w.loop.after(latency - latency/2))
	if err != nil {
		return none, err
	}
	return out.(T), nil
}

// read is a GET of the stored truth.
func (c *client) read(resource, namespace, name string) (Object, error) {
	obj, ok := c.server.store.Get(resource, namespace, name)
	if !ok {
		return nil, notFound(kindByResource[resource], name)
	}
	return obj, nil
}

func (c *client) GetDeployment(ctx context.Context, namespace, name string) (*appsv1.Deployment, error) {
	return call[*appsv1.Deployment](ctx, c, func() (Object, error) { return c.read(Deployments, namespace, name) })
}

func (c *client) UpdateDeployment(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return call[*appsv1.Deployment](ctx, c, func() (Object, error) { return c.updateOwn(d, "") })
}

func (c *client) UpdateDeploymentStatus(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return call[*appsv1.Deployment](ctx, c, func() (Object, error) { return c.updateOwn(d, "status") })
}

func (c *client) GetReplicaSet(ctx context.Context, namespace, name string) (*appsv1.ReplicaSet, error) {
	return call[*appsv1.ReplicaSet](ctx, c, func() (Object, error) { return c.read(ReplicaSets, namespace, name) })
}

func (c *client) CreateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return call[*appsv1.ReplicaSet](ctx, c, func() (Object, error) { return c.create(rs) })
}

func (c *client) UpdateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return call[*appsv1.ReplicaSet](ctx, c, func() (Object, error) { return c.updateOwn(rs, "") })
}

func (c *client) UpdateReplicaSetStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return call[*appsv1.ReplicaSet](ctx, c, func() (Object, error) { return c.updateOwn(rs, "status") })
}

func (c *client) PatchReplicaSet(ctx context.Context, namespace, name string, patch types.PatchType, data []byte) (*appsv1.ReplicaSet, error) {
	return call[*appsv1.ReplicaSet](ctx, c, func() (Object, error) { return c.patch(ReplicaSets, namespace, name, patch, data) })
}

func (c *client) DeleteReplicaSet(ctx context.Context, namespace, name string) error {
	_, err := call[*appsv1.ReplicaSet](ctx, c, func() (Object, error) {
		return c.remove(ReplicaSets, namespace, name, metav1.DeleteOptions{})
	})
	return err
}

func (c *client) CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return call[*corev1.Pod](ctx, c, func() (Object, error) { return c.create(pod) })
}

func (c *client) PatchPod(ctx context.Context, namespace, name string, patch types.PatchType, data []byte) (*corev1.Pod, error) {
	return call[*corev1.Pod](ctx, c, func() (Object, error) { return c.patch(Pods, namespace, name, patch, data) })
}

func (c *client) DeletePod(ctx context.Context, namespace, name string) error {
	_, err := call[*corev1.Pod](ctx, c, func() (Object, error) { return c.remove(Pods, namespace, name, metav1.DeleteOptions{}) })
	return err
}
