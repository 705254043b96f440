package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// bounds are what a rollout must keep to, in pods.
type bounds struct{ mostSize, least int }

// extremes are what was seen of one Deployment.
type extremes struct {
	sizes     map[string]int  // spec.replicas by ReplicaSet
	there     map[string]bool // whether available, by pod that is not terminating
	available int             // of those
	mostSize  int
	mostPods  int
	least     int
	above     time.Time     // since when there are more pods than sizes may add up to
	longest   time.Duration // that this lasted
	counted   time.Time     // when it was last looked at
	served    time.Duration // of all that, while an engine ran
}

// follower watches all ReplicaSets and pods of a namespace, which have their
// Deployment's name as the label app, and keeps the extremes of each Deployment.
// It sees every state but those between an API server's start and its own next list.
type follower struct {
	bounds bounds

	mu     sync.Mutex
	apps   map[string]*extremes
	served bool // an engine runs
}

// serve is told when an engine begins to run and when it ends.
func (f *follower) serve(runs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.apps {
		f.count(e)
	}
	f.served = runs
}

// follow starts a follower; what is there counts.
func (p *plane) follow(t *testing.T, namespace string, b bounds) *follower {
	t.Helper()
	f := &follower{bounds: b, apps: map[string]*extremes{}}
	var running sync.WaitGroup
	ctx := t.Context()
	reflectors := []*cache.Reflector{
		reflector(p.client.AppsV1().RESTClient(), "replicasets", namespace, &appsv1.ReplicaSet{}, &view{replace: f.allSets, apply: f.set}),
		reflector(p.client.CoreV1().RESTClient(), "pods", namespace, &corev1.Pod{}, &view{replace: f.allPods, apply: f.pod}),
	}
	for _, r := range reflectors {
		running.Go(func() { r.RunWithContext(ctx) })
	}
	t.Cleanup(running.Wait)
	for _, r := range reflectors {
		eventually(t, time.Minute, "what there is was listed", func() (bool, string) { v := r.LastSyncResourceVersion(); return v != "", v })
	}
	return f
}

func reflector(client rest.Interface, resource, namespace string, kind any, into cache.ReflectorStore) *cache.Reflector {
	return cache.NewReflectorWithOptions(cache.NewListWatchFromClient(client, resource, namespace, fields.Everything()), kind, into, cache.ReflectorOptions{})
}

// view is a store that only tells: of one object, or of all at once.
type view struct {
	replace func([]any)
	apply   func(obj any, gone bool)
}

func (v *view) Add(obj any) error                     { v.apply(obj, false); return nil }
func (v *view) Update(obj any) error                  { v.apply(obj, false); return nil }
func (v *view) Delete(obj any) error                  { v.apply(obj, true); return nil }
func (v *view) Replace(objects []any, _ string) error { v.replace(objects); return nil }
func (v *view) Resync() error                         { return nil }

func (f *follower) app(name string) *extremes {
	if f.apps[name] == nil {
		f.apps[name] = &extremes{sizes: map[string]int{}, there: map[string]bool{}, least: f.bounds.least}
	}
	return f.apps[name]
}

func (f *follower) allSets(objects []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.apps {
		clear(e.sizes)
	}
	for _, obj := range objects {
		if rs, ok := obj.(*appsv1.ReplicaSet); ok {
			f.app(rs.Labels["app"]).sizes[rs.Name] = int(*rs.Spec.Replicas)
		}
	}
	for _, e := range f.apps {
		e.weigh()
	}
}

func (f *follower) set(obj any, gone bool) {
	rs, ok := obj.(*appsv1.ReplicaSet)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.app(rs.Labels["app"])
	e.sizes[rs.Name] = int(*rs.Spec.Replicas)
	if gone {
		delete(e.sizes, rs.Name)
	}
	e.weigh()
}

// weigh looks at the sizes.
func (e *extremes) weigh() {
	sum := 0
	for size := range maps.Values(e.sizes) {
		sum += size
	}
	e.mostSize = max(e.mostSize, sum)
}

func (f *follower) allPods(objects []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.apps {
		clear(e.there)
	}
	for _, obj := range objects {
		if pod, ok := obj.(*corev1.Pod); ok && pod.DeletionTimestamp == nil {
			f.app(pod.Labels["app"]).there[pod.Name] = rollout.IsPodReady(pod)
		}
	}
	for _, e := range f.apps {
		f.count(e)
	}
}

func (f *follower) pod(obj any, gone bool) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.app(pod.Labels["app"])
	if gone || pod.DeletionTimestamp != nil {
		delete(e.there, pod.Name)
	} else {
		e.there[pod.Name] = rollout.IsPodReady(pod)
	}
	f.count(e)
}

// count looks at the pods of a Deployment.
func (f *follower) count(e *extremes) {
	e.available = 0
	for available := range maps.Values(e.there) {
		if available {
			e.available++
		}
	}
	e.mostPods, e.least = max(e.mostPods, len(e.there)), min(e.least, e.available)
	now := time.Now()
	if !e.above.IsZero() {
		e.longest = max(e.longest, now.Sub(e.above))
		if f.served {
			e.served += now.Sub(e.counted)
		}
	}
	e.counted = now
	switch over := len(e.there) > f.bounds.mostSize; {
	case !over:
		e.above = time.Time{}
	case e.above.IsZero():
		e.above = now
	}
}

func (e *extremes) String() string {
	return fmt.Sprintf("at most %d by size, %d pods; at least %d available; more pods than the sizes may add up to for %s at a time, for %s in all while an engine ran",
		e.mostSize, e.mostPods, e.least, e.longest.Round(time.Millisecond), e.served.Round(time.Millisecond))
}

// state is where each Deployment is, for the log.
func (f *follower) state() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.apps)) {
		e := f.apps[name]
		out = append(out, fmt.Sprintf("%s %v/%d", name, slices.Sorted(maps.Values(e.sizes)), e.available))
	}
	return strings.Join(out, ", ")
}

// check holds the extremes against the bounds of the strategy.
func (f *follower) check(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.apps)) {
		e := f.apps[name]
		t.Logf("%s: %s", name, e)
		if e.mostSize > f.bounds.mostSize {
			t.Errorf("%s: the ReplicaSets' sizes added up to %d, want at most %d", name, e.mostSize, f.bounds.mostSize)
		}
		if e.least < f.bounds.least {
			t.Errorf("%s: %d pods were available, want at least %d", name, e.least, f.bounds.least)
		}
	}
}
