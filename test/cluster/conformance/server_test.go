package conformance

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// server is an API server, real or simulated, with one namespace to play in.
type server interface {
	// begin goes on in a new namespace with objects in it.
	begin(ns *corev1.Namespace, objs []sim.Object) error
	create(obj sim.Object) (sim.Object, error)
	get(resource, name string) (sim.Object, error)
	update(obj sim.Object, subresource string) (sim.Object, error)
	patch(resource, name string, data []byte) (sim.Object, error)
	remove(resource, name string, opts metav1.DeleteOptions) error
	bind(pod *corev1.Pod, node string) error
	scale(resource, name string) (*autoscalingv1.Scale, error)
	updateScale(resource string, s *autoscalingv1.Scale) (*autoscalingv1.Scale, error)
	// events are the watch events of a resource since the last call, in order.
	events(resource string) ([]event, error)
	now() time.Time
}

// event is one event of a watch.
type event struct {
	verb string
	obj  sim.Object
}

// realServer is a kube-apiserver.
type realServer struct {
	ctx       context.Context
	namespace string
	clients   map[string]*rest.RESTClient // by resource
	watches   map[string]watch.Interface
	marks     int
}

// aside is where markers are written: their events tell that all earlier ones are here.
const aside = "markers"

func newRealServer(ctx context.Context, cfg *rest.Config, namespace string) (*realServer, error) {
	apps, err := clientFor(cfg, "/apis", schema.GroupVersion{Group: "apps", Version: "v1"})
	if err != nil {
		return nil, err
	}
	core, err := clientFor(cfg, "/api", corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	s := &realServer{
		ctx: ctx, namespace: namespace, watches: map[string]watch.Interface{},
		clients: map[string]*rest.RESTClient{sim.Deployments: apps, sim.ReplicaSets: apps, sim.Pods: core, sim.PersistentVolumeClaims: core},
	}
	for _, name := range []string{namespace, aside} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := core.Post().Resource("namespaces").Body(ns).Do(ctx).Error()
		if err != nil && name != aside {
			return nil, err
		}
	}
	for resource, client := range s.clients {
		w, err := client.Get().Resource(resource).VersionedParams(&metav1.ListOptions{Watch: true}, scheme.ParameterCodec).Watch(ctx)
		if err != nil {
			return nil, err
		}
		s.watches[resource] = w
		if _, err := s.events(resource); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func clientFor(cfg *rest.Config, path string, gv schema.GroupVersion) (*rest.RESTClient, error) {
	c := rest.CopyConfig(cfg)
	c.APIPath, c.GroupVersion, c.QPS, c.WarningHandler = path, &gv, -1, rest.NoWarnings{}
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(c)
}

func (s *realServer) close() {
	for _, w := range s.watches {
		w.Stop()
	}
}

func (s *realServer) now() time.Time { return time.Now() }

// do sends a request and reads the object it answers with.
func (s *realServer) do(r *rest.Request) (sim.Object, error) {
	obj, err := r.Do(s.ctx).Get()
	if err != nil {
		return nil, err
	}
	out, ok := obj.(sim.Object)
	if !ok {
		return nil, fmt.Errorf("the server answered with a %T", obj)
	}
	return out, nil
}

func (s *realServer) to(r *rest.Request, resource, name string) *rest.Request {
	return r.Namespace(s.namespace).Resource(resource).Name(name)
}

func (s *realServer) create(obj sim.Object) (sim.Object, error) {
	resource := resourceOf(obj)
	return s.do(s.clients[resource].Post().Namespace(s.namespace).Resource(resource).Body(obj))
}

func (s *realServer) get(resource, name string) (sim.Object, error) {
	return s.do(s.to(s.clients[resource].Get(), resource, name))
}

func (s *realServer) update(obj sim.Object, subresource string) (sim.Object, error) {
	resource := resourceOf(obj)
	r := s.to(s.clients[resource].Put(), resource, obj.GetName()).Body(obj)
	if subresource != "" {
		r = r.SubResource(subresource)
	}
	return s.do(r)
}

func (s *realServer) patch(resource, name string, data []byte) (sim.Object, error) {
	return s.do(s.to(s.clients[resource].Patch(types.StrategicMergePatchType), resource, name).Body(data))
}

func (s *realServer) remove(resource, name string, opts metav1.DeleteOptions) error {
	return s.to(s.clients[resource].Delete(), resource, name).Body(&opts).Do(s.ctx).Error()
}

func (s *realServer) bind(pod *corev1.Pod, node string) error {
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: s.namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	return s.to(s.clients[sim.Pods].Post(), sim.Pods, pod.Name).SubResource("binding").Body(b).Do(s.ctx).Error()
}

func (s *realServer) scale(resource, name string) (*autoscalingv1.Scale, error) {
	out := &autoscalingv1.Scale{}
	return out, s.to(s.clients[resource].Get(), resource, name).SubResource("scale").Do(s.ctx).Into(out)
}

func (s *realServer) updateScale(resource string, in *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	out := &autoscalingv1.Scale{}
	return out, s.to(s.clients[resource].Put(), resource, in.Name).SubResource("scale").Body(in).Do(s.ctx).Into(out)
}

// events reads the watch up to the event of a marker written now.
func (s *realServer) events(resource string) ([]event, error) {
	s.marks++
	mark := marker(resource, fmt.Sprintf("%s-%d", s.namespace, s.marks))
	if err := s.clients[resource].Post().Namespace(aside).Resource(resource).Body(mark).Do(s.ctx).Error(); err != nil {
		return nil, err
	}
	var out []event
	for {
		select {
		case e, open := <-s.watches[resource].ResultChan():
			obj, ok := e.Object.(sim.Object)
			switch {
			case !open || !ok:
				return nil, fmt.Errorf("the watch of %s ended: %v", resource, e.Object)
			case obj.GetNamespace() == s.namespace:
				out = append(out, event{string(e.Type), obj})
			case obj.GetNamespace() == aside && obj.GetName() == mark.GetName():
				return out, nil
			}
		case <-time.After(10 * time.Second):
			return nil, fmt.Errorf("no event of a marker among %s", resource)
		}
	}
}

// marker is a small object of a resource.
func marker(resource, name string) sim.Object {
	obj, err := decode([]byte(smallest[resource]))
	if err != nil {
		panic(err)
	}
	obj.SetName(name)
	return obj
}

func resourceOf(obj runtime.Object) string {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic(err)
	}
	resource, _ := sim.Resource(gvks[0].Kind)
	return resource
}
