package worlds

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// twin is one of upstream's controllers as kube-controller-manager makes it,
// with four parts exchanged for ones that can be watched: its informers, its
// transport, its queue's inside and its event recorder. It runs with one worker,
// which waits at the queue until it may make a pass.
type twin struct {
	*transport
	queue     *queue
	informers map[string]*informer
	said      *said
	travels   travels
	synced    error // the error of the latest pass
	panicked  any
}

func (t *twin) share(queueField *workqueue.TypedRateLimitingInterface[string], handler *func(context.Context, string) error) {
	(*queueField).ShutDown()
	*queueField = t.queue
	sync := *handler
	*handler = func(ctx context.Context, key string) error {
		defer func() { t.panicked = recover() }()
		t.synced = sync(ctx, key)
		t.queue.asked = append(t.queue.asked, "synced")
		return t.synced
	}
}

func newDeploymentTwin(ctx context.Context, shared travels) *twin {
	t := &twin{travels: shared, transport: &transport{}, queue: newQueue(), said: &said{}, informers: map[string]*informer{
		"deployments": newInformer("deployments.apps"), "replicasets": newInformer("replicasets.apps"), "pods": newInformer("pods"),
	}}
	dc, err := deployment.NewDeploymentController(ctx, deploymentInformer{t.informers["deployments"]},
		replicaSetInformer{t.informers["replicasets"]}, podInformer{t.informers["pods"]}, t.client())
	if err != nil {
		panic(err)
	}
	*field[record.EventRecorder](dc, "eventRecorder") = t.said
	t.share(field[workqueue.TypedRateLimitingInterface[string]](dc, "queue"), field[func(context.Context, string) error](dc, "syncHandler"))
	go dc.Run(ctx, 1)
	return t
}

func newReplicaSetTwin(ctx context.Context, shared travels) *twin {
	t := &twin{travels: shared, transport: &transport{}, queue: newQueue(), said: &said{}, informers: map[string]*informer{
		"replicasets": newInformer("replicasets.apps"), "pods": newInformer("pods"),
	}}
	rsc := replicaset.NewReplicaSetController(ctx, replicaSetInformer{t.informers["replicasets"]},
		podInformer{t.informers["pods"]}, t.client(), replicaset.BurstReplicas)
	podControl := field[controller.PodControlInterface](rsc, "podControl")
	pods := (*podControl).(controller.RealPodControl)
	pods.Recorder = t.said
	*podControl = pods
	t.share(field[workqueue.TypedRateLimitingInterface[string]](rsc, "queue"), field[func(context.Context, string) error](rsc, "syncHandler"))
	go rsc.Run(ctx, 1)
	return t
}

// observe brings a change into the twin's cache and tells its handlers, as an
// informer does. A tombstone is how an informer tells of a deletion it missed.
func (t *twin) observe(c engine.Change, tombstone bool) {
	obj := t.travels.of(c.New)
	i := t.informers[resourceOf(obj)]
	if c.Verb == engine.Deleted {
		var told any = obj
		if tombstone {
			key, _ := cache.MetaNamespaceKeyFunc(obj)
			told = cache.DeletedFinalStateUnknown{Key: key, Obj: obj}
		} else {
			t.drop(c.New)
		}
		i.tell(func(h cache.ResourceEventHandler) { h.OnDelete(told) })
		return
	}
	old, had, _ := i.Get(obj)
	if !had && c.Verb == engine.Modified { // another of that name
		old, had = t.travels.of(c.Old), true
	}
	_ = i.Update(obj)
	if had {
		i.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(old, obj) })
	} else {
		i.tell(func(h cache.ResourceEventHandler) { h.OnAdd(obj, false) })
	}
}

// drop takes an object out of the twin's cache.
func (t *twin) drop(obj runtime.Object) {
	_ = t.informers[resourceOf(obj)].Delete(t.travels.of(obj))
}

// resync tells the handlers of an object once more.
func (t *twin) resync(obj runtime.Object) {
	i := t.informers[resourceOf(obj)]
	if have, ok, _ := i.Get(t.travels.of(obj)); ok {
		i.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(have, have) })
	}
}

func (i *informer) tell(call func(cache.ResourceEventHandler)) {
	for _, h := range i.handlers {
		call(h)
	}
}

// pass lets upstream's worker run once over a key that is ready.
func (t *twin) pass(key string, rec *recording) {
	t.rec, t.differ, t.panicked = rec, nil, nil
	t.queue.turn(key)
}

// said keeps Events at the moment they are said.
type said struct {
	mu     sync.Mutex
	events []string
}

func (s *said) Event(obj runtime.Object, kind, reason, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, describeEvent(obj, kind, reason, message))
}

func (s *said) Eventf(obj runtime.Object, kind, reason, format string, args ...any) {
	s.Event(obj, kind, reason, fmt.Sprintf(format, args...))
}

func (s *said) AnnotatedEventf(obj runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	s.Eventf(obj, kind, reason, format, args...)
}

func (s *said) take() []string {
	events := s.events
	s.events = nil
	return events
}

// sortGroups orders the texts of calls made side by side; upstream's have no order there.
func sortGroups(events []event, theirs []string) (ours, upstream []string) {
	at := 0
	for at < len(events) {
		end := at
		for end < len(events) && events[end].group == events[at].group {
			end++
		}
		group := make([]string, 0, end-at)
		for _, e := range events[at:end] {
			group = append(group, e.text)
		}
		slices.Sort(group)
		ours = append(ours, group...)
		their := slices.Clone(theirs[min(at, len(theirs)):min(end, len(theirs))])
		slices.Sort(their)
		upstream = append(upstream, their...)
		at = end
	}
	return ours, append(upstream, theirs[min(at, len(theirs)):]...)
}
