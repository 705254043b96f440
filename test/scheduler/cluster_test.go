package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// settle is how long a scheduler's watches may take to see what was written.
const settle = 300 * time.Millisecond

// bench is a real API server and scheduler without any other part.
type bench struct {
	kubernetes.Interface
	placed, best, refused, invalid int
	current                        types.UID // the pod that is being placed
}

// TestCluster gives a real kube-scheduler small random worlds, pod by pod. Pods
// that it refuses must be told what we would tell them, word by word; of pods
// that it places, 95 % must be where we see the highest score.
func TestCluster(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Scheduler: true})
	config, err := c.Config("")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Interface: client}
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { b.world(t, newDice(1000+seed)) })
	}
	t.Logf("%d pods placed, %d of them at the highest score; %d refused; %d not valid", b.placed, b.best, b.refused, b.invalid)
	if b.placed < worlds || b.refused < worlds || 100*b.best < 95*b.placed {
		t.Errorf("too few")
	}
}

func (b *bench) world(t *testing.T, d *dice) {
	ctx := t.Context()
	for _, obj := range d.world() {
		if err := b.load(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			if !apierrors.IsInvalid(err) {
				t.Fatalf("%T %s: %v", obj, obj.GetName(), err)
			}
			b.invalid++
		}
	}
	time.Sleep(settle)
	for i := range 6 {
		pod := plain(d.pod(fmt.Sprintf("new-%d", i)))
		made, err := b.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsInvalid(err) {
			b.invalid++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b.judge(ctx, t, made)
	}
	b.clear(ctx, t)
}

// plain leaves out what needs objects of other kinds, or a class.
func plain(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Priority, pod.Spec.PreemptionPolicy, pod.Spec.Overhead, pod.Spec.Volumes = nil, nil, nil, nil
	pod.DeletionTimestamp, pod.Finalizers, pod.UID = nil, nil, ""
	return pod
}

func (b *bench) load(ctx context.Context, obj sim.Object) error {
	core := b.CoreV1()
	switch o := obj.(type) {
	case *corev1.Namespace:
		_, err := core.Namespaces().Create(ctx, o, metav1.CreateOptions{})
		return err
	case *corev1.Service:
		o.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		_, err := core.Services(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		return err
	case *appsv1.ReplicaSet:
		_, err := b.AppsV1().ReplicaSets(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		return err
	case *corev1.Pod:
		_, err := core.Pods(o.Namespace).Create(ctx, plain(o), metav1.CreateOptions{})
		return err
	case *corev1.Node:
		made, err := core.Nodes().Create(ctx, o, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Spec.Taints = o.Spec.Taints // without the one that every new node gets
		_, err = core.Nodes().Update(ctx, made, metav1.UpdateOptions{})
		return err
	}
	return nil
}

// judge waits for what the scheduler makes of a pod and compares.
func (b *bench) judge(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	// What it sees is everything but what it does now.
	b.current = pod.UID
	seen := b.read(ctx, t)
	var verdict *corev1.PodCondition
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		got, err := b.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		pod = got
		for i := range got.Status.Conditions {
			if got.Status.Conditions[i].Type == corev1.PodScheduled {
				verdict = &got.Status.Conditions[i]
			}
		}
		return verdict != nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", pod.Name, err)
	}
	waiting := pod.DeepCopy()
	waiting.Spec.NodeName = ""
	if verdict.Status == corev1.ConditionTrue {
		b.chosen(t, seen, waiting, pod.Spec.NodeName)
		time.Sleep(settle / 3)
		return
	}
	b.refused++
	if want := scheduler.Explain(seen, rollout.LatestVersion, waiting); verdict.Message != want {
		t.Errorf("%s was told\n%s\nwe would say\n%s", pod.Name, verdict.Message, want)
	}
	b.remove(ctx, t, pod)
}

func (b *bench) chosen(t *testing.T, seen sim.Reader, pod *corev1.Pod, node string) {
	b.placed++
	high, own := int64(-1), int64(-1)
	for _, a := range scheduler.Assess(seen, rollout.LatestVersion, pod) {
		if len(a.Reasons) > 0 {
			if a.Node == node {
				t.Errorf("%s went to %s, which we say does not take it: %v", pod.Name, node, a.Reasons)
			}
			continue
		}
		high = max(high, a.Score)
		if a.Node == node {
			own = a.Score
		}
	}
	if own == high {
		b.best++
	} else {
		t.Logf("%s went to %s with %d of %d points", pod.Name, node, own, high)
	}
}

// read takes the API server's objects into a world, pods that wait excepted.
func (b *bench) read(ctx context.Context, t *testing.T) sim.Reader {
	world := sim.New(sim.Config{})
	take := func(obj sim.Object) {
		if err := world.Load(obj); err != nil {
			t.Fatal(err)
		}
	}
	nodes, err := b.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	fatal(t, err)
	spaces, err := b.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	fatal(t, err)
	services, err := b.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	fatal(t, err)
	sets, err := b.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})
	fatal(t, err)
	pods, err := b.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	fatal(t, err)
	for i := range nodes.Items {
		take(&nodes.Items[i])
	}
	for i := range spaces.Items {
		take(&spaces.Items[i])
	}
	for i := range services.Items {
		take(&services.Items[i])
	}
	for i := range sets.Items {
		take(&sets.Items[i])
	}
	for i := range pods.Items {
		if known := &pods.Items[i]; known.Spec.NodeName != "" && known.UID != b.current {
			take(known)
		}
	}
	return world.Stored()
}

func (b *bench) remove(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	zero := int64(0)
	fatal(t, b.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
}

// clear removes the world. Namespaces and ReplicaSets are the same in all.
func (b *bench) clear(ctx context.Context, t *testing.T) {
	pods, err := b.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	fatal(t, err)
	for i := range pods.Items {
		b.remove(ctx, t, &pods.Items[i])
	}
	fatal(t, b.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	for _, space := range spaces {
		err := b.CoreV1().Services(space).Delete(ctx, "all", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	time.Sleep(settle)
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
