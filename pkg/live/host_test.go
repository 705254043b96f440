package live

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// numbered makes a fake API that counts resource versions and UIDs as a server does.
func numbered(objects ...k8sruntime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	var last atomic.Int64
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, k8sruntime.Object, error) {
		if write, ok := action.(interface{ GetObject() k8sruntime.Object }); ok {
			obj := write.GetObject().(Object)
			n := strconv.FormatInt(last.Add(1)+100, 10)
			obj.SetResourceVersion(n)
			if action.GetVerb() == "create" {
				obj.SetUID(types.UID("uid-" + n))
				if obj.GetName() == "" {
					obj.SetName(obj.GetGenerateName() + n)
				}
			}
		}
		return false, nil, nil
	})
	return client
}

// hosted runs the two controllers against a fake API until the test ends.
func hosted(t *testing.T, client *fake.Clientset, o Options) *Host {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	h := &Host{options: o.completed(), clock: clock.RealClock{}, stop: stop, ready: make(chan struct{}), done: make(chan struct{})}
	h.hands = client
	h.journal, h.guard = newJournal(o.Trace, h.clock), newGuard(stop)
	if err := h.prepareInformers(client); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []engine.Spec{deployment.Spec(rollout.LatestVersion), replicaset.Spec(rollout.LatestVersion)} {
		if err := h.add(ctx, spec, client); err != nil {
			t.Fatal(err)
		}
	}
	go h.run(ctx, h.runAlone)
	select {
	case <-h.Ready():
	case <-time.After(30 * time.Second):
		t.Fatal("the host is not ready after 30 s")
	}
	return h
}

func webOf(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "d", Generation: 1, ResourceVersion: "1"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}
}

// eventually waits for a condition of the API.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// A Deployment gets its ReplicaSet and that its pods; Events are written; the
// trace has the causes; the end is clean.
func TestHostCreates(t *testing.T) {
	client := numbered(webOf(3))
	events := make(chan trace.Event, 4096)
	h := hosted(t, client, Options{Trace: func(e trace.Event) { events <- e }})
	eventually(t, "three pods", func() bool {
		pods, err := client.CoreV1().Pods("team").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 3
	})
	eventually(t, "four events", func() bool {
		said, err := client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(said.Items) == 4 // one for the set, three for the pods
	})
	if pods := h.cache.PodsIn("team"); len(pods) == 3 {
		owner := metav1.GetControllerOf(pods[0])
		if n := len(h.cache.PodsOf("team", owner.Name, owner.UID)); n != 3 {
			t.Errorf("the owner has %d pods in the cache, want 3", n)
		}
	}
	if n := len(h.cache.OrphanPods("team")); n != 0 {
		t.Errorf("%d orphans, want none", n)
	}
	if n := len(h.cache.ReplicaSetsOf("d")); n != 1 {
		t.Errorf("the Deployment has %d ReplicaSets in the cache, want 1", n)
	}
	if err := h.Stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	close(events)
	created, byRule := 0, map[trace.Rule]int{}
	for e := range events {
		switch d := e.Detail.(type) {
		case trace.Created:
			created++
			if e.Actor != trace.ActorReplicaSet || e.Cause == 0 {
				t.Errorf("%s was created by %s because of %d, want by replicaset and for a reason", e.Object, e.Actor, e.Cause)
			}
		case trace.Scaled:
			byRule[d.Why]++
		}
	}
	if created != 3 || byRule[trace.Room] != 1 {
		t.Errorf("traced %d pods and scalings %v, want 3 pods and one of Room", created, byRule)
	}
}

// A goal's change is made and followed to its end; the cache must have it first.
func TestHostRuns(t *testing.T) {
	h := hosted(t, numbered(), Options{})
	web := trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
	goal := engine.Goal{Workloads: []trace.Ref{web}, Limit: 20 * time.Second, Begin: func(ctx context.Context, hand engine.Hand) error {
		_, err := hand.Apply(ctx, webOf(0))
		return err
	}}
	if out, err := h.Run(t.Context(), goal); err != nil || out.Why != rollout.EndComplete {
		t.Errorf("no pods wanted: %+v, %v, want Complete", out, err)
	}
	goal.Limit = 300 * time.Millisecond
	goal.Begin = func(ctx context.Context, hand engine.Hand) error {
		_, err := hand.Apply(ctx, webOf(2)) // nothing makes them ready
		return err
	}
	if out, err := h.Run(t.Context(), goal); err != nil || out.Why != endLimit {
		t.Errorf("two pods that never get ready: %+v, %v, want Limit", out, err)
	}
	goal.Begin = func(ctx context.Context, hand engine.Hand) error { return hand.Delete(ctx, web, "") }
	if _, err := h.Run(t.Context(), goal); err != nil {
		t.Error(err)
	}
	goal.Begin, goal.Limit = nil, 20*time.Second
	if out, err := h.Run(t.Context(), goal); err != nil || out.Why != endGone {
		t.Errorf("deleted: %+v, %v, want Gone", out, err)
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := h.Run(t.Context(), goal); err == nil {
		t.Error("a stopped host runs")
	}
}

func TestCacheLastSynced(t *testing.T) {
	h := hosted(t, numbered(), Options{})
	for _, resource := range []string{"pods", "replicasets.apps", "deployments.apps"} {
		_ = h.cache.LastSynced(resource) // the fake lists without a version: only the names count here
	}
	if v := h.cache.LastSynced("nodes"); v != "" {
		t.Errorf("nodes are synced to %q, want nothing", v)
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
}

// Someone else who publishes observed generations ends the host.
func TestHostNoticesOthers(t *testing.T) {
	g := newGuard(nil)
	var stopped error
	g.stop = func(err error) { stopped = err }
	was, is := webOf(1), webOf(1)
	is.Status.ObservedGeneration = 2
	g.observe(engine.Added, is, nil)
	g.intend(is)
	g.observe(engine.Modified, is, was)
	if stopped != nil {
		t.Errorf("own status: %v, want no complaint", stopped)
	}
	is.Status.ObservedGeneration = 3
	g.observe(engine.Modified, is, was)
	var occupied *OccupiedError
	if !errors.As(stopped, &occupied) || !strings.Contains(stopped.Error(), "generation 3 of deployment team/web") {
		t.Errorf("another's status: %v, want an OccupiedError about generation 3", stopped)
	}
}

func TestHeld(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: ptr.To(int32(15)), RenewTime: &metav1.MicroTime{Time: now.Add(-renewed)},
		}}
	}
	for _, c := range []struct {
		name  string
		lease *coordinationv1.Lease
		want  bool
	}{
		{"renewed", lease("a", 2*time.Second), true},
		{"run out", lease("a", 15*time.Second), false},
		{"given up", lease("", time.Second), false},
		{"empty", &coordinationv1.Lease{}, false},
	} {
		if got := held(c.lease, now); got != c.want {
			t.Errorf("%s: held is %v, want %v", c.name, got, c.want)
		}
	}
}
