package scheduler

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/scheduler"
)

// Worlds and pods a world of TestAssess.
const (
	worlds       = 60
	podsPerWorld = 12
)

// TestAssess feeds upstream's scheduling framework and ours the same random
// worlds and pods: reasons by node, whether preemption may help, and total
// scores must be equal, number by number.
func TestAssess(t *testing.T) {
	var refused, placed int
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := newDice(seed)
			world := sim.New(sim.Config{})
			if err := world.Load(d.world()...); err != nil {
				t.Fatal(err)
			}
			for i := range podsPerWorld {
				pod := d.pod(fmt.Sprintf("new-%d", i))
				if err := world.Load(pod); err != nil {
					t.Fatal(err)
				}
				best := compare(t, world.Stored(), pod)
				if best == "" {
					refused++
					continue
				}
				placed++
				pod.Spec.NodeName = best
				if err := world.Load(pod); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if refused < worlds || placed < worlds {
		t.Errorf("%d pods refused and %d placed: the worlds are too easy or too hard", refused, placed)
	}
}

// anyNode leaves out which node preemption chose: it draws among equals.
func anyNode(message string) string { return chosen.ReplaceAllString(message, "on some node,") }

var chosen = regexp.MustCompile(`on node \S+,`)

// compare assesses a pod twice and returns the node to take, if any.
func compare(t *testing.T, world sim.Reader, pod *corev1.Pod) (best string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	obj, _ := world.Get(sim.Pods, pod.Namespace, pod.Name)
	stored := obj.(*corev1.Pod)
	want, message := upstream(ctx, t, world).assess(ctx, t, stored)
	if diff := cmp.Diff(anyNode(message), anyNode(scheduler.Explain(world, rollout.LatestVersion, stored))); diff != "" {
		t.Errorf("%s: upstream -, ours +\n%s", pod.Name, diff)
	}
	got := map[string]scheduler.Assessment{}
	high := int64(-1)
	for _, a := range scheduler.Assess(world, rollout.LatestVersion, stored) {
		got[a.Node] = a
		if len(a.Reasons) == 0 && a.Score > high {
			best, high = a.Node, a.Score
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: upstream -, ours +\n%s", pod.Name, diff)
	}
	return best
}
