package scenario_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// FuzzWorld plays random worlds in which every pod can become ready in the end,
// and holds them against the invariants: those of sim.Check at every event; the
// rollout completes; what is complete is true; the same world again gives the
// same bytes.
func FuzzWorld(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Add(uint64(966)) // nodes are looked for while one place is free and nine pods wait
	f.Fuzz(func(t *testing.T, seed uint64) {
		first, why := playRandom(t, seed)
		if why != "Complete" {
			t.Errorf("seed %d ended %s", seed, why)
		}
		if seed%5 == 0 {
			if again, _ := playRandom(t, seed); !bytes.Equal(first, again) {
				t.Errorf("seed %d: the same world gives another trace", seed)
			}
		}
	})
}

// randomWorld draws a Deployment and a story from a seed.
type randomWorld struct {
	*rand.Rand
	deployment *appsv1.Deployment
	there      []sim.Object
	room       string // pods a node
	parts      scenario.Parts
}

func drawWorld(seed uint64) *randomWorld {
	w := &randomWorld{Rand: rand.New(rand.NewPCG(seed, 7))}
	var r recording
	r.Params.Replicas, r.Params.Strategy = int32(w.IntN(25)), appsv1.RollingUpdateDeploymentStrategyType
	if w.IntN(6) == 0 {
		r.Params.Strategy = appsv1.RecreateDeploymentStrategyType
	}
	r.Params.MaxSurge, r.Params.MaxUnavailable = w.fence(), w.fence()
	if w.IntN(4) == 0 {
		r.Params.MinReadySeconds = int32(w.IntN(20))
	}
	w.deployment = r.deployment("web:v1")
	w.parts = scenario.Parts{
		Version: rollout.Version(int(rollout.OldestVersion) + w.IntN(int(rollout.LatestVersion-rollout.OldestVersion)+1)),
		Seed:    seed, Start: time.Date(2026, 1, 1, 0, 0, w.IntN(60), w.IntN(1e9), time.UTC), Timing: sim.ClusterTiming(),
		Pods: func(pod *corev1.Pod) kubelet.Profile {
			return kubelet.Profile{ReadyAfter: kubelet.Range{High: 8 * time.Second}, ExitAfter: kubelet.Range{High: 6 * time.Second}}
		},
	}
	if w.IntN(3) == 0 {
		w.parts.Timing = sim.InstantTiming()
	}
	for range w.IntN(5) {
		w.parts.Story.Steps = append(w.parts.Story.Steps, w.step())
	}
	w.parts.Story.Steps = append(w.parts.Story.Steps, v1alpha1.ScenarioStep{
		At: metav1.Duration{Duration: 61 * time.Second}, Target: "deployment/web", Patch: raw(`{"spec":{"paused":false}}`),
	})
	for range w.IntN(3) {
		w.parts.Story.Faults = append(w.parts.Story.Faults, w.fault())
	}
	w.room = "500"
	w.disturbNodes()
	w.crowd()
	w.autoscale()
	return w
}

// fence is a maxSurge or maxUnavailable that is never literally zero.
func (w *randomWorld) fence() *intstr.IntOrString {
	n := intstr.FromInt32(int32(1 + w.IntN(6)))
	if w.IntN(2) == 0 {
		n = intstr.FromString(fmt.Sprintf("%d%%", 1+w.IntN(100)))
	}
	return &n
}

func (w *randomWorld) step() v1alpha1.ScenarioStep {
	s := v1alpha1.ScenarioStep{At: metav1.Duration{Duration: time.Duration(w.IntN(60_000)) * time.Millisecond}, Target: "deployment/web"}
	switch w.IntN(6) {
	case 0, 1:
		s.Images = map[string]string{"app": fmt.Sprintf("web:v%d", 1+w.IntN(4))}
	case 2:
		n := int32(w.IntN(30))
		s.Replicas = &n
	case 3:
		s.Patch = raw(`{"spec":{"paused":true}}`)
	case 4:
		s.Patch = raw(fmt.Sprintf(`{"metadata":{"annotations":{"a":"%d"}},"spec":{"minReadySeconds":%d}}`, w.IntN(9), w.IntN(15)))
	case 5:
		s.Target, s.First, s.Pod = "pod/*", 1+w.IntN(3), "crash"
	}
	return s
}

func raw(text string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(text)}
}

// fault is a request that fails a few times and then no more.
func (w *randomWorld) fault() v1alpha1.Fault {
	answers := []string{"Conflict", "InternalError", "Timeout", "Forbidden"}
	return v1alpha1.Fault{
		Verb: []string{"create", "update", "delete"}[w.IntN(3)], Resource: []string{sim.Pods, sim.ReplicaSets, sim.Deployments}[w.IntN(3)],
		Actor: []string{"deployment", "replicaset"}[w.IntN(2)], Skip: w.IntN(10), Times: 1 + w.IntN(4), Answer: answers[w.IntN(len(answers))],
	}
}

func playRandom(t *testing.T, seed uint64) (events []byte, why string) {
	drawn := drawWorld(seed)
	log := trace.NewLog()
	drawn.parts.Log = log
	w, err := scenario.NewWorld(drawn.parts)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	ctx := context.Background()
	if err := w.Load(append(drawn.there, node("node-1", drawn.room), node("node-2", drawn.room), node("node-3", drawn.room))...); err != nil {
		t.Fatal(err)
	}
	if err := w.Settle(ctx, drawn.deployment); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	web := trace.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	outcome, err := w.Run(ctx, engine.Goal{Workloads: []trace.Ref{web}, Limit: 3 * time.Hour})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := sim.Check(log.Events()); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if err := w.Finished(web); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if err := placed(w); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	out, err := json.Marshal(log.Events())
	if err != nil {
		t.Fatal(err)
	}
	return out, outcome.Why
}
