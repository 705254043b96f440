package worlds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// recording is all our controller did in one pass: its requests with the
// server's answers, its Events, and what it asked of its queue.
type recording struct {
	travels  travels
	requests []*request
	events   []event
	asked    []string
	group    int // calls made side by side share a group
	aside    int // depth of fan-out
}

// request is one API call and its answer.
type request struct {
	group int
	what  string // verb, resource, subresource, namespace, name
	body  string // what was sent, in one form only
	code  int
	kind  string // the content type of the answer
	reply []byte // what the server answered
	used  bool   // upstream made it too
}

// event is one Kubernetes Event, as said and before any correlation.
type event struct {
	group int
	text  string
}

func describeEvent(obj runtime.Object, kind, reason, message string) string {
	m := obj.(metav1.Object)
	return fmt.Sprintf("%s %s about %s/%s (%s): %s", kind, reason, m.GetNamespace(), m.GetName(), m.GetUID(), message)
}

func (r *recording) step() int {
	if r.aside == 0 {
		r.group++
	}
	return r.group
}

// ask keeps a request and its answer.
func (r *recording) ask(what, body string, obj runtime.Object, err error) {
	q := &request{group: r.step(), what: what, body: body, code: http.StatusOK, kind: plain}
	switch {
	case err != nil:
		q.code, q.reply = refusal(err)
	case obj != nil:
		q.kind, q.reply = protobuf, seal(resourceOf(obj), r.travels.by(obj).data)
	default:
		q.reply = []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	}
	r.requests = append(r.requests, q)
}

func (r *recording) writes() int {
	n := 0
	for _, q := range r.requests {
		if !strings.HasPrefix(q.what, http.MethodGet) {
			n++
		}
	}
	return n
}

func refusal(err error) (int, []byte) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	data, _ := json.Marshal(s)
	return int(s.Code), data
}

// api records what goes through it, and lets faults answer in the server's place.
type api struct {
	engine.API
	rec    *recording
	faults *faults
}

func call[T runtime.Object](a *api, verb, resource, sub, ns, name, body string, do func() (T, error)) (T, error) {
	obj, err := injected(a.faults, verb, resource, sub, do)
	what := verb + " " + resource + sub + " " + ns + "/" + name
	if err != nil {
		a.rec.ask(what, body, nil, err)
	} else {
		a.rec.ask(what, body, obj, nil)
	}
	return obj, err
}

func (a *api) GetDeployment(ctx context.Context, ns, name string) (*appsv1.Deployment, error) {
	return call(a, "GET", "deployments", "", ns, name, "", func() (*appsv1.Deployment, error) { return a.API.GetDeployment(ctx, ns, name) })
}

func (a *api) UpdateDeployment(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return call(a, "PUT", "deployments", "", d.Namespace, d.Name, string(encode(d)), func() (*appsv1.Deployment, error) { return a.API.UpdateDeployment(ctx, d) })
}

func (a *api) UpdateDeploymentStatus(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return call(a, "PUT", "deployments", "/status", d.Namespace, d.Name, string(encode(d)), func() (*appsv1.Deployment, error) { return a.API.UpdateDeploymentStatus(ctx, d) })
}

func (a *api) GetReplicaSet(ctx context.Context, ns, name string) (*appsv1.ReplicaSet, error) {
	return call(a, "GET", "replicasets", "", ns, name, "", func() (*appsv1.ReplicaSet, error) { return a.API.GetReplicaSet(ctx, ns, name) })
}

func (a *api) CreateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return call(a, "POST", "replicasets", "", rs.Namespace, "", string(encode(rs)), func() (*appsv1.ReplicaSet, error) { return a.API.CreateReplicaSet(ctx, rs) })
}

func (a *api) UpdateReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return call(a, "PUT", "replicasets", "", rs.Namespace, rs.Name, string(encode(rs)), func() (*appsv1.ReplicaSet, error) { return a.API.UpdateReplicaSet(ctx, rs) })
}

func (a *api) UpdateReplicaSetStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return call(a, "PUT", "replicasets", "/status", rs.Namespace, rs.Name, string(encode(rs)), func() (*appsv1.ReplicaSet, error) { return a.API.UpdateReplicaSetStatus(ctx, rs) })
}

func (a *api) PatchReplicaSet(ctx context.Context, ns, name string, kind types.PatchType, data []byte) (*appsv1.ReplicaSet, error) {
	return call(a, "PATCH", "replicasets", "", ns, name, string(kind)+canonical(data), func() (*appsv1.ReplicaSet, error) {
		return a.API.PatchReplicaSet(ctx, ns, name, kind, data)
	})
}

func (a *api) DeleteReplicaSet(ctx context.Context, ns, name string) error {
	return a.gone("replicasets", ns, name, func() error { return a.API.DeleteReplicaSet(ctx, ns, name) })
}

func (a *api) CreatePod(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	return call(a, "POST", "pods", "", p.Namespace, "", string(encode(p)), func() (*corev1.Pod, error) { return a.API.CreatePod(ctx, p) })
}

func (a *api) PatchPod(ctx context.Context, ns, name string, kind types.PatchType, data []byte) (*corev1.Pod, error) {
	return call(a, "PATCH", "pods", "", ns, name, string(kind)+canonical(data), func() (*corev1.Pod, error) { return a.API.PatchPod(ctx, ns, name, kind, data) })
}

func (a *api) DeletePod(ctx context.Context, ns, name string) error {
	return a.gone("pods", ns, name, func() error { return a.API.DeletePod(ctx, ns, name) })
}

func (a *api) gone(resource, ns, name string, do func() error) error {
	_, err := injected(a.faults, "DELETE", resource, "", func() (struct{}, error) { return struct{}{}, do() })
	a.rec.ask("DELETE "+resource+" "+ns+"/"+name, "{}", nil, err)
	return err
}

// recordedQueue notes what our controller asks of its queue.
type recordedQueue struct {
	engine.Queue
	rec *recording
}

func (q recordedQueue) Add(key engine.Key) {
	q.rec.asked = append(q.rec.asked, "add "+key.String())
	q.Queue.Add(key)
}

func (q recordedQueue) AddAfter(key engine.Key, d time.Duration) {
	q.rec.asked = append(q.rec.asked, fmt.Sprintf("add %s after %v", key, d))
	q.Queue.AddAfter(key, d)
}

func (q recordedQueue) AddRateLimited(key engine.Key) {
	q.rec.asked = append(q.rec.asked, "retry "+key.String())
	q.Queue.AddRateLimited(key)
}

// recordedEvents notes what our controller says.
type recordedEvents struct {
	engine.Recorder
	rec *recording
}

func (e recordedEvents) Event(obj runtime.Object, kind, reason, message string) {
	e.rec.events = append(e.rec.events, event{e.rec.step(), describeEvent(obj, kind, reason, message)})
	e.Recorder.Event(obj, kind, reason, message)
}

// watched is env with everything recorded.
func watched(env *engine.Env, f *faults, t travels) (*engine.Env, *recording) {
	rec := &recording{travels: t}
	e := *env
	e.API = &api{env.API, rec, f}
	e.Queue = recordedQueue{env.Queue, rec}
	e.Events = recordedEvents{env.Events, rec}
	e.Fanout = func(ctx context.Context, n int, do func(context.Context, int) error) []error {
		rec.group++
		rec.aside++
		defer func() { rec.aside-- }()
		return env.Fanout(ctx, n, do)
	}
	return &e, rec
}
