package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// AddNodes makes nodes up, named on from those there are (node-0, node-1 …),
// and waits until kwok has made every node ready.
func (c *Cluster) AddNodes(ctx context.Context, n int, size NodeSize) error {
	if n == 0 {
		return nil
	}
	client, err := c.unlimited()
	if err != nil {
		return err
	}
	capacity, err := size.capacity()
	if err != nil {
		return err
	}
	there, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	first := len(there.Items)
	err = inParallel(n, func(i int) error { return create(ctx, client, node(first+i, capacity)) })
	if err != nil {
		return fmt.Errorf("creating nodes: %w", err)
	}
	return awaitNodes(ctx, client, first+n)
}

// create makes a node and takes off the taint that every new node gets, which
// would stay where no node lifecycle controller runs.
func create(ctx context.Context, client kubernetes.Interface, n *corev1.Node) error {
	nodes := client.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, n, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := nodes.Patch(ctx, n.Name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
	return err
}

// unlimited is a client without client-go's own limit, for setting up.
func (c *Cluster) unlimited() (kubernetes.Interface, error) {
	cfg, err := c.Config("")
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	return kubernetes.NewForConfig(cfg)
}

func nodeName(i int) string { return "node-" + strconv.Itoa(i) }

func node(i int, capacity corev1.ResourceList) *corev1.Node {
	name := nodeName(i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

func (s NodeSize) capacity() (corev1.ResourceList, error) {
	out := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{
		corev1.ResourceCPU:    cmp.Or(s.CPU, "64"),
		corev1.ResourceMemory: cmp.Or(s.Memory, "256Gi"),
		corev1.ResourcePods:   strconv.Itoa(cmp.Or(s.Pods, 110)),
	} {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("a node's %s %q: %w", name, text, err)
		}
		out[name] = q
	}
	return out, nil
}

// awaitNodes waits until so many nodes are ready and free of taints.
func awaitNodes(ctx context.Context, client kubernetes.Interface, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%d nodes were not ready within %s", n, patience))
	defer cancel()
	for {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for i := range nodes.Items {
			if usable(&nodes.Items[i]) {
				ready++
			}
		}
		if ready >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func usable(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return !tainted(n)
		}
	}
	return false
}

// tainted: a node lifecycle controller that saw the node before it was ready
// takes its taint off a moment later.
func tainted(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady {
			return true
		}
	}
	return false
}

// inParallel makes n calls, 16 at a time, and returns the first error.
func inParallel(n int, call func(i int) error) error {
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := call(i); err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	wait.Wait()
	return first
}
