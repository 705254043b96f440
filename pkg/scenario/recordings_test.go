package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/scenario"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// recording is a rollout as a real Kubernetes 1.37.2 control plane did it;
// times are milliseconds from the change.
type recording struct {
	Name   string
	Params struct {
		Replicas        int32
		Strategy        appsv1.DeploymentStrategyType
		MaxSurge        *intstr.IntOrString
		MaxUnavailable  *intstr.IntOrString
		StartupSeconds  float64 `json:"startup_delay_s"`
		ExitSeconds     float64 `json:"termination_delay_s"`
		MinReadySeconds int32
		Nodes           int
		SecondAt        *float64 `json:"second_template_change_at_s"`
	}
	Changes []struct {
		Milliseconds float64 `json:"ms"`
		Sizes        []*int32
	} `json:"rs_changes"`
	Done     float64        `json:"done_ms"`
	Creates  map[string]int `json:"pod_creates_per_second"`
	Deletes  map[string]int `json:"pod_deletes_per_second"`
	Pods     podStats       `json:"podstats"`
	LeastAvl int32          `json:"min_availableReplicas"`
}

type podStats struct {
	Active  int `json:"peak_active"`
	Objects int `json:"peak_objects"`
}

// step is the sizes of all ReplicaSets, oldest first, after one change.
type step struct {
	at    time.Duration
	sizes string
}

// rolled is a rollout as the test compares it, recorded or simulated.
type rolled struct {
	steps            []step
	done             time.Duration
	peak             podStats
	least            int32
	creates, deletes map[int]int
}

func readRecordings(t *testing.T) []recording {
	files, err := filepath.Glob("testdata/recordings/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var out []recording
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r.Name = filepath.Base(file)
		out = append(out, r)
	}
	return out
}

// rolled reads a recording.
func (r recording) rolled() rolled {
	out := rolled{done: ms(r.Done), peak: r.Pods, least: r.LeastAvl, creates: perSecond(r.Creates), deletes: perSecond(r.Deletes)}
	for _, c := range r.Changes {
		var sizes []int32
		for _, n := range c.Sizes {
			if n != nil {
				sizes = append(sizes, *n)
			}
		}
		out.steps = append(out.steps, step{ms(c.Milliseconds), fmt.Sprint(sizes)})
	}
	return out
}

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

func perSecond(m map[string]int) map[int]int {
	out := map[int]int{}
	for k, n := range m {
		second, _ := strconv.Atoi(k)
		out[second] = n
	}
	return out
}

// deployment is the recorded one with an image.
func (r recording) deployment(image string) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &r.Params.Replicas, MinReadySeconds: r.Params.MinReadySeconds,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: r.Params.Strategy},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
			},
		},
	}
	if r.Params.Strategy == appsv1.RollingUpdateDeploymentStrategyType {
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: r.Params.MaxSurge, MaxUnavailable: r.Params.MaxUnavailable}
	}
	return d
}

func node(name, pods string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse(pods),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			}},
	}
}

// simulate plays the recorded rollout. The recorded Deployments were seconds
// old when they were changed, which shows in what their events may still write.
func (r recording) simulate(t testing.TB, seed uint64) rolled {
	log := trace.NewLog()
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	parts := scenario.Parts{
		Seed: seed, Timing: sim.ClusterTiming(), Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Settled: 15 * time.Second, Log: log,
		Pods: func(*corev1.Pod) kubelet.Profile {
			return kubelet.Profile{ReadyAfter: kubelet.Exactly(seconds(r.Params.StartupSeconds)), ExitAfter: kubelet.Exactly(seconds(r.Params.ExitSeconds))}
		},
	}
	if at := r.Params.SecondAt; at != nil {
		parts.Story.Steps = []v1alpha1.ScenarioStep{{
			At: metav1.Duration{Duration: seconds(*at)}, Target: "deployment/web", Images: map[string]string{"app": "web:v3"},
		}}
	}
	w, err := scenario.NewWorld(parts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Params.Nodes {
		if err := w.Load(node(fmt.Sprintf("node-%d", i+1), "500")); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	if err := w.Settle(ctx, r.deployment("web:v1")); err != nil {
		t.Fatal(err)
	}
	_, err = w.Run(ctx, engine.Goal{
		Workloads: []trace.Ref{{Kind: "Deployment", Namespace: "default", Name: "web"}}, Limit: time.Hour,
		Begin: func(ctx context.Context, hand engine.Hand) error {
			_, err := hand.Apply(ctx, r.deployment("web:v2"))
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return fold(log.Events())
}

// fold reads a simulated rollout off its trace.
func fold(events []trace.Event) rolled {
	f := folding{rolled: rolled{creates: map[int]int{}, deletes: map[int]int{}, least: math.MaxInt32}, sizes: map[string]int32{}, leaving: map[string]bool{}}
	for _, e := range events {
		f.take(e)
	}
	return f.rolled
}

type folding struct {
	rolled
	order   []string
	leaving map[string]bool
	sizes   map[string]int32
	pods    podStats
}

func (f *folding) take(e trace.Event) {
	second := int(e.Offset.Seconds())
	switch d := e.Detail.(type) {
	case trace.Found:
		if e.Object.Kind == "ReplicaSet" {
			f.order, f.sizes[e.Object.Name] = append(f.order, e.Object.Name), *d.Replicas
		} else if e.Object.Kind == "Pod" {
			f.pods.Active++
			f.pods.Objects++
		}
	case trace.Scaled:
		if d.Created {
			f.order = append(f.order, e.Object.Name)
		}
		f.sizes[e.Object.Name] = d.To
		f.steps = append(f.steps, step{e.Offset, f.sizesNow()})
	case trace.Created:
		f.pods.Active++
		f.pods.Objects++
		f.creates[second]++
		f.peak.Active = max(f.peak.Active, f.pods.Active)
		f.peak.Objects = max(f.peak.Objects, f.pods.Objects)
	case trace.PodChanged:
		if d.Terminating && !f.leaving[e.Object.Name] {
			f.leaving[e.Object.Name] = true
			f.pods.Active--
			f.deletes[second]++
		}
	case trace.Removed:
		f.pods.Objects--
	case trace.StatusChanged:
		if e.Object.Kind == "Deployment" {
			f.least, f.done = min(f.least, d.Available), e.Offset
		}
	}
}

func (f *folding) sizesNow() string {
	var sizes []int32
	for _, name := range f.order {
		sizes = append(sizes, f.sizes[name])
	}
	return fmt.Sprint(sizes)
}

// waves splits steps where nothing was scaled for half a second.
func waves(steps []step) (out [][]step) {
	for i, s := range steps {
		if i == 0 || s.at-steps[i-1].at > 500*time.Millisecond {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

func ends(steps []step) (out []string) {
	for _, wave := range waves(steps) {
		out = append(out, wave[len(wave)-1].sizes)
	}
	return out
}

func first(steps []step) (out []string) {
	for _, s := range waves(steps)[0] {
		out = append(out, s.sizes)
	}
	return out
}

// exactSeed is a seed whose latencies fall as those of the recordings did.
const exactSeed = 11

// paced recordings have waves that pods set the pace of; in the others the
// controllers' client limit does, and a batch more or less is a matter of luck.
func (r recording) paced() bool { return r.Params.Replicas < 100 }

func TestRecordingsAreReproduced(t *testing.T) {
	for _, r := range readRecordings(t) {
		t.Run(r.Name, func(t *testing.T) {
			want := r.rolled()
			for _, seed := range []uint64{exactSeed, 1, 2, 3} {
				got := r.simulate(t, seed)
				r.checkLikeness(t, seed, got, want)
				if seed == exactSeed && r.paced() {
					checkExact(t, got, want)
				}
			}
		})
	}
}

func checkExact(t *testing.T, got, want rolled) {
	if e, w := ends(got.steps), ends(want.steps); !slices.Equal(e, w) {
		t.Errorf("waves end at %v, recorded %v", e, w)
	}
	if got.peak != want.peak {
		t.Errorf("peaks %+v, recorded %+v", got.peak, want.peak)
	}
}

// checkLikeness holds for every seed: the first steps and the least available
// exactly, a legal path, durations within 10%, and how far creations and
// deletions have come at each second within 15%.
func (r recording) checkLikeness(t *testing.T, seed uint64, got, want rolled) {
	n := float64(r.Params.Replicas)
	if f, w := first(got.steps), first(want.steps); !slices.Equal(f, w) {
		t.Errorf("seed %d: first steps %v, recorded %v", seed, f, w)
	}
	if got.least != want.least {
		t.Errorf("seed %d: at least %d available, recorded %d", seed, got.least, want.least)
	}
	if off := math.Abs(float64(got.done-want.done)) / float64(want.done); off > 0.10 {
		t.Errorf("seed %d: done after %s, recorded %s", seed, got.done, want.done)
	}
	if off := math.Abs(float64(got.peak.Objects - want.peak.Objects)); off > 0.10*n+2 {
		t.Errorf("seed %d: %d pod objects at once, recorded %d", seed, got.peak.Objects, want.peak.Objects)
	}
	checkCurve(t, seed, "created", got.creates, want.creates)
	checkCurve(t, seed, "deleted", got.deletes, want.deletes)
	r.checkPath(t, seed, got.steps)
	if !r.paced() {
		for _, wave := range waves(want.steps) {
			end := wave[len(wave)-1]
			if off := closest(got.steps, end, want.done/20); off > 0.05*n {
				t.Errorf("seed %d: around %s sizes are %.0f pods off the recorded %v", seed, end.at, off, end.sizes)
			}
		}
	}
}

// checkCurve compares running totals, at each second and a second around it.
func checkCurve(t *testing.T, seed uint64, what string, got, want map[int]int) {
	total := 0
	for _, n := range want {
		total += n
	}
	sum := func(m map[int]int, until int) (n int) {
		for second, k := range m {
			if second <= until {
				n += k
			}
		}
		return n
	}
	for second := range 120 {
		w, slack := sum(want, second), int(0.15*float64(total))+1
		if low, high := sum(got, second-1), sum(got, second+1); w < low-slack || w > high+slack {
			t.Errorf("seed %d: after %d s %d to %d pods %s, recorded %d", seed, second+1, low, high, what, w)
		}
	}
}

// checkPath holds each step against the budgets: never more pods wanted than
// replicas and surge allow, and one ReplicaSet moved at a time.
func (r recording) checkPath(t *testing.T, seed uint64, steps []step) {
	d := r.deployment("web:v1")
	most := r.Params.Replicas
	if r.Params.Strategy == appsv1.RollingUpdateDeploymentStrategyType {
		most += rollout.MaxSurge(d)
	}
	before := []int32{r.Params.Replicas}
	for _, s := range steps {
		now, moved, sum := parse(s.sizes), 0, int32(0)
		for i, n := range now {
			sum += n
			if i >= len(before) || before[i] != n {
				moved++
			}
		}
		if sum > most || moved > 1 {
			t.Errorf("seed %d: step from %v to %v at %s is not one the budgets allow", seed, before, now, s.at)
		}
		before = now
	}
}

func parse(sizes string) (out []int32) {
	for _, word := range strings.Fields(strings.Trim(sizes, "[]")) {
		n, _ := strconv.Atoi(word)
		out = append(out, int32(n))
	}
	return out
}

// closest is how many pods the sizes are off a recorded step, at the best time within the slack.
func closest(steps []step, want step, slack time.Duration) float64 {
	best := math.Inf(1)
	for i, s := range steps {
		lasts := i+1 == len(steps) || steps[i+1].at > want.at-slack
		if s.at > want.at+slack || !lasts {
			continue
		}
		off := 0.0
		for j, n := range parse(want.sizes) {
			if have := parse(s.sizes); j < len(have) {
				off = max(off, math.Abs(float64(have[j]-n)))
			}
		}
		best = min(best, off)
	}
	return best
}
