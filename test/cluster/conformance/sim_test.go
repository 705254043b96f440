package conformance

import (
	"context"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/admission"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/quota"
)

// simServer is the simulated API server with all of its admission.
type simServer struct {
	ctx       context.Context
	namespace string
	world     *sim.World
	hands     *sim.Hands
	seen      map[string][]event
}

func newSimServer(ctx context.Context, namespace string) *simServer {
	world := sim.New(sim.Config{
		Seed: 1, Start: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		Plugins: []sim.Plugin{
			admission.NewNamespaces(), admission.NewLimitRanger(), admission.NewPodSecurity(), admission.NewPriority(),
			admission.NewTolerations(admission.DefaultSeconds, admission.DefaultSeconds), quota.New(),
		},
	})
	s := &simServer{ctx: ctx, namespace: namespace, world: world, hands: world.Hands("tester"), seen: map[string][]event{}}
	for _, resource := range []string{sim.Deployments, sim.ReplicaSets, sim.Pods, sim.PersistentVolumeClaims} {
		s.hands.Watch(resource, func(c engine.Change) {
			s.seen[resource] = append(s.seen[resource], event{string(c.Verb), c.New.(sim.Object)})
		})
	}
	return s
}

func (s *simServer) now() time.Time { return s.world.Now() }

func (s *simServer) create(obj sim.Object) (sim.Object, error) {
	return s.hands.Create(s.placed(obj))
}

// placed puts an object into the namespace, as a request's path does.
func (s *simServer) placed(obj sim.Object) sim.Object {
	obj = obj.DeepCopyObject().(sim.Object)
	obj.SetNamespace(s.namespace)
	return obj
}

func (s *simServer) get(resource, name string) (sim.Object, error) {
	obj, ok := s.hands.Stored().Get(resource, s.namespace, name)
	if !ok {
		group := ""
		if resource != sim.Pods {
			group = "apps"
		}
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
	}
	return obj, nil
}

func (s *simServer) update(obj sim.Object, subresource string) (sim.Object, error) {
	obj = s.placed(obj)
	if subresource == "status" {
		return s.hands.UpdateStatus(obj)
	}
	return s.hands.Update(obj)
}

func (s *simServer) patch(resource, name string, data []byte) (sim.Object, error) {
	return s.hands.Patch(resource, s.namespace, name, types.StrategicMergePatchType, data)
}

func (s *simServer) remove(resource, name string, opts metav1.DeleteOptions) error {
	return s.hands.Delete(resource, s.namespace, name, opts)
}

func (s *simServer) bind(pod *corev1.Pod, node string) error {
	_, err := s.hands.Bind(s.placed(pod).(*corev1.Pod), node)
	return err
}

func (s *simServer) scale(resource, name string) (*autoscalingv1.Scale, error) {
	return s.hands.Scale(resource, s.namespace, name)
}

func (s *simServer) updateScale(resource string, in *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	in = in.DeepCopy()
	in.Namespace = s.namespace
	return s.hands.UpdateScale(resource, in)
}

func (s *simServer) events(resource string) ([]event, error) {
	if err := s.world.Advance(s.ctx, 0); err != nil {
		return nil, err
	}
	out := s.seen[resource]
	s.seen[resource] = nil
	return out, nil
}
