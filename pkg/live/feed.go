package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// feed is one watch on its way into the inbox: client-go's reflector takes up
// what expires or breaks, and writes here what it would write into an
// informer's queue. So nothing stands between the wire and the inbox in which
// one watch could fall behind another, and the version of each list is known.
type feed struct {
	source
	follower *Follower
	stop     context.CancelFunc

	known   map[string]Object // by name, as they were last
	filled  bool              // there has been a list
	streams bool              // the list that comes is the beginning of a watch

	begun   chan struct{} // closed once it brings what happens
	once    sync.Once
	refused chan error // why it may not be watched
}

var (
	_ cache.ReflectorStore         = &feed{}
	_ cache.ReflectorBookmarkStore = &feed{}
)

// start runs a watch. The answer waits until it has begun, or is known not to
// be allowed.
func (f *Follower) start(ctx context.Context, s source) func() error {
	ctx, stop := context.WithCancel(klog.NewContext(ctx, klog.Logger{})) // what fails is told by Problem
	e := &feed{source: s, follower: f, stop: stop, known: map[string]Object{}, begun: make(chan struct{}), refused: make(chan error, 1)}
	f.inbox.await(s.name(), s.resource == "events")
	calls := &cache.ListWatch{ListWithContextFunc: e.listAll, WatchFuncWithContext: e.watchOn}
	r := cache.NewReflectorWithOptions(calls, s.example, e, cache.ReflectorOptions{Name: s.name(), Logger: &klog.Logger{}})
	f.ended.Go(func() { r.RunWithContext(ctx) })
	return func() error {
		select {
		case <-e.begun:
			return nil
		case err := <-e.refused:
			if s.needed {
				return err
			}
			f.options.Problem(fmt.Errorf("cannot watch %s: what they tell is not shown", s.resource))
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// name tells a watch from the others.
func (s source) name() string { return s.resource + " " + s.namespace + " " + s.options.FieldSelector }

func (e *feed) choose(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector, o.FieldSelector = e.options.LabelSelector, e.options.FieldSelector
	return o
}

// listAll asks the server for what there is.
func (e *feed) listAll(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	e.streams = false
	list, err := e.list(ctx, e.choose(o))
	e.answered(ctx, err, false)
	return list, err
}

// watchOn begins a watch, with a list or where the last one ended.
func (e *feed) watchOn(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	e.streams = o.SendInitialEvents != nil && *o.SendInitialEvents
	w, err := e.watch(ctx, e.choose(o))
	e.answered(ctx, err, e.streams)
	if err != nil {
		return nil, err
	}
	turn := e.follower.inbox.attach(e.name())
	if !e.streams {
		e.begin()
	}
	return e.attend(w, turn), nil
}

func (e *feed) begin() {
	e.follower.inbox.regain(e.name())
	e.once.Do(func() { close(e.begun) })
}

// attended is a watch whose end is noted, whoever ends it.
type attended struct {
	watch.Interface
	events <-chan watch.Event
	ended  func()
}

// ResultChan has what the watch brings.
func (a attended) ResultChan() <-chan watch.Event { return a.events }

// Stop ends the watch.
func (a attended) Stop() {
	a.ended()
	a.Interface.Stop()
}

// attend notes the end of a watch before the reflector, which takes it up, knows of it.
func (e *feed) attend(w watch.Interface, turn int) watch.Interface {
	ctx, stop := context.WithCancel(context.Background())
	ended := func() {
		e.follower.inbox.lose(e.name(), turn)
		stop()
	}
	events := make(chan watch.Event)
	go func() {
		defer close(events)
		defer ended()
		for event := range w.ResultChan() {
			select {
			case events <- event:
			case <-ctx.Done():
				return
			}
		}
	}()
	return attended{w, events, ended}
}

// Add takes up an object.
func (e *feed) Add(obj any) error { return e.bring(engine.Added, obj) }

// Update takes up the next version of an object.
func (e *feed) Update(obj any) error { return e.bring(engine.Modified, obj) }

// Delete takes up the end of an object.
func (e *feed) Delete(obj any) error { return e.bring(engine.Deleted, obj) }

func (e *feed) bring(verb engine.Verb, obj any) error {
	o, ok := obj.(Object)
	if !ok {
		return fmt.Errorf("a watch of %s brought a %T", e.resource, obj)
	}
	if e.known[o.GetName()] = o; verb == engine.Deleted {
		delete(e.known, o.GetName())
	}
	e.follower.inbox.put(e.name(), arrival{verb: verb, obj: o, at: time.Now()})
	return nil
}

// Replace takes up a list, whose version is that of the whole. What it shows
// beside what is known happened since, nobody saw when.
func (e *feed) Replace(list []any, version string) error {
	again, now := e.filled, time.Now()
	there := map[string]Object{}
	var changed []arrival
	for _, obj := range list {
		o, ok := obj.(Object)
		if !ok {
			return fmt.Errorf("a list of %s has a %T", e.resource, obj)
		}
		there[o.GetName()] = o
		if old := e.known[o.GetName()]; old == nil || old.GetResourceVersion() != o.GetResourceVersion() {
			changed = append(changed, arrival{verb: engine.Modified, obj: o, initial: !again, listed: again, frees: shrinks(o, old), at: now})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.known)) {
		if there[name] == nil {
			changed = append(changed, arrival{verb: engine.Deleted, obj: e.known[name], missed: true, frees: true, at: now})
		}
	}
	e.known, e.filled = there, true
	e.follower.inbox.fill(e.name(), version, again, changed)
	if e.streams {
		e.begin()
	}
	return nil
}

// Resync is never asked for.
func (e *feed) Resync() error { return nil }

// Bookmark is told of a version that the watch has come to.
func (e *feed) Bookmark(version string) error {
	e.follower.inbox.pass(e.name(), version)
	return nil
}

// shrinks reports whether a ReplicaSet is smaller than it was.
func shrinks(obj, old Object) bool {
	rs, is := obj.(*appsv1.ReplicaSet)
	was, known := old.(*appsv1.ReplicaSet)
	return is && known && rollout.Size(rs) < rollout.Size(was)
}
