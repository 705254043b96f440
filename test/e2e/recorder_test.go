package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// seen is a watch event and when it came.
type seen struct {
	at   time.Time
	verb watch.EventType
	obj  metav1.Object
}

// recorder keeps what watches of a new namespace tell. The events of a kind are
// in the order of their resource versions.
type recorder struct {
	mu     sync.Mutex
	events []seen
}

// record watches a namespace, which must be empty, and the nodes until the test ends.
func record(t *testing.T, client kubernetes.Interface, namespace string) *recorder {
	t.Helper()
	r := &recorder{}
	for _, begin := range []func(context.Context, metav1.ListOptions) (watch.Interface, error){
		client.AppsV1().Deployments(namespace).Watch, client.AppsV1().ReplicaSets(namespace).Watch, client.CoreV1().Pods(namespace).Watch,
		client.CoreV1().Nodes().Watch,
	} {
		w, err := begin(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("watching %s: %v", namespace, err)
		}
		t.Cleanup(w.Stop)
		go r.follow(w)
	}
	return r
}

func (r *recorder) follow(w watch.Interface) {
	for e := range w.ResultChan() {
		if obj, ok := e.Object.(metav1.Object); ok {
			r.mu.Lock()
			r.events = append(r.events, seen{time.Now(), e.Type, obj})
			r.mu.Unlock()
		}
	}
}

// mark is the number of events so far.
func (r *recorder) mark() int { return len(r.all()) }

func (r *recorder) all() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// last is when something was told.
func (r *recorder) last() time.Time {
	all := r.all()
	return all[len(all)-1].at
}

// scaledSince is when a ReplicaSet was last made or scaled after a mark; zero when none was.
func (r *recorder) scaledSince(mark int) (last time.Time) {
	now := map[string]int32{}
	for i, e := range r.all() {
		rs, ok := e.obj.(*appsv1.ReplicaSet)
		if !ok || e.verb == watch.Deleted {
			continue
		}
		size, known := now[rs.Name]
		now[rs.Name] = *rs.Spec.Replicas
		if i >= mark && (!known || size != *rs.Spec.Replicas) {
			last = e.at
		}
	}
	return last
}
