package live

import (
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// follower watches a Deployment's sets and pods and keeps the extremes.
type follower struct {
	mu        sync.Mutex
	sizes     map[string]int32 // spec.replicas by ReplicaSet
	available map[string]bool  // by pod that is not terminating
	there     map[string]bool  // pods that are not terminating
	mostSize  int32
	mostPods  int
	least     int
}

// follow starts a follower; what is there counts.
func (p *plane) follow(t *testing.T, d *appsv1.Deployment) *follower {
	t.Helper()
	f := &follower{sizes: map[string]int32{}, available: map[string]bool{}, there: map[string]bool{}, least: int(*d.Spec.Replicas)}
	sets, err := p.client.AppsV1().ReplicaSets(d.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sets.Items {
		f.set(&sets.Items[i], watch.Added)
	}
	pods, err := p.client.CoreV1().Pods(d.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		f.pod(&pods.Items[i], watch.Added, false)
	}
	setWatch, err := p.client.AppsV1().ReplicaSets(d.Namespace).Watch(t.Context(), metav1.ListOptions{ResourceVersion: sets.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	podWatch, err := p.client.CoreV1().Pods(d.Namespace).Watch(t.Context(), metav1.ListOptions{ResourceVersion: pods.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for e := range setWatch.ResultChan() {
			if rs, ok := e.Object.(*appsv1.ReplicaSet); ok {
				f.set(rs, e.Type)
			}
		}
	}()
	go func() {
		for e := range podWatch.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				f.pod(pod, e.Type, true)
			}
		}
	}()
	t.Cleanup(setWatch.Stop)
	t.Cleanup(podWatch.Stop)
	return f
}

func (f *follower) set(rs *appsv1.ReplicaSet, verb watch.EventType) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes[rs.Name] = *rs.Spec.Replicas
	if verb == watch.Deleted {
		delete(f.sizes, rs.Name)
	}
	sum := int32(0)
	for _, size := range f.sizes {
		sum += size
	}
	f.mostSize = max(f.mostSize, sum)
}

func (f *follower) pod(pod *corev1.Pod, verb watch.EventType, counts bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.available, pod.Name)
	delete(f.there, pod.Name)
	if verb != watch.Deleted && pod.DeletionTimestamp == nil {
		f.there[pod.Name] = true
		if rollout.IsPodReady(pod) {
			f.available[pod.Name] = true
		}
	}
	f.mostPods = max(f.mostPods, len(f.there))
	if counts {
		f.least = min(f.least, len(f.available))
	}
}

func (f *follower) state() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("sizes %v, %d pods, %d available", f.sizes, len(f.there), len(f.available))
}

// check holds the extremes against the bounds of the strategy.
func (f *follower) check(t *testing.T, mostSize int32, least int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("at most %d by size, %d pods; at least %d available", f.mostSize, f.mostPods, f.least)
	if f.mostSize > mostSize {
		t.Errorf("the ReplicaSets' sizes added up to %d, want at most %d", f.mostSize, mostSize)
	}
	if f.least < least {
		t.Errorf("%d pods were available, want at least %d", f.least, least)
	}
}
