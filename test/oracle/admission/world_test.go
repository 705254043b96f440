package admission

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // for conversion and defaults

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

var (
	pods = flag.Int("pods", envInt("PODS", 3000), "pods for each comparison (env PODS)")
	seed = flag.Uint64("seed", uint64(envInt("SEED", 1)), "seed of the pods (env SEED)")
)

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

const namespace = "team"

// begin is the time at which a pod is created.
var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// each checks so many drawn inputs, and that enough of them were refused and
// enough were not: what is never refused compares nothing.
func each(t *testing.T, check func(t *testing.T, r draw) error) {
	t.Helper()
	refused := 0
	for i := range *pods {
		err := check(t, draw{rand.New(rand.NewPCG(*seed, uint64(i)))})
		if t.Failed() {
			t.Fatalf("-seed=%d pod %d", *seed, i)
		}
		if err != nil {
			refused++
		}
	}
	if t.Logf("%d pods, %d of them refused", *pods, refused); refused < *pods/10 || refused > *pods*9/10 {
		t.Errorf("the draw is lopsided: %d of %d pods are refused", refused, *pods)
	}
}

// passage is a pod on its way through a simulated admission plugin.
type passage struct {
	sim.Plugin
	create *corev1.Pod

	before, after, judged *corev1.Pod // as it came to mutation, left it, and came to validation
	err                   error
}

// through creates a pod in a world that has the plugin under test and what is there.
func through(t *testing.T, plugin sim.Plugin, there []sim.Object, pod *corev1.Pod) *passage {
	t.Helper()
	p := &passage{create: pod}
	w := sim.New(sim.Config{Seed: 1, Timing: sim.InstantTiming(), Start: begin, Plugins: []sim.Plugin{(*entrance)(p), plugin, (*exit)(p)}})
	if err := w.Load(there...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(context.Background(), engine.Goal{Limit: time.Second}); err != nil {
		t.Fatal(err)
	}
	return p
}

// entrance sees a pod before the plugin under test does, and creates it.
type entrance passage

func (p *entrance) Name() string { return "you" }

func (p *entrance) Start(h *sim.Hands) {
	h.After(0, func() { _, p.err = h.Create(p.create.DeepCopy()) })
}

func (p *entrance) Mutate(req *sim.Request) error {
	p.before = copied(req)
	return nil
}

func (p *entrance) Validate(req *sim.Request) error {
	p.judged = copied(req)
	return nil
}

// exit sees it afterwards.
type exit passage

func (p *exit) Name() string { return "exit" }

func (p *exit) Start(*sim.Hands) {}

func (p *exit) Mutate(req *sim.Request) error {
	p.after = copied(req)
	return nil
}

func (p *exit) Validate(*sim.Request) error { return nil }

func copied(req *sim.Request) *corev1.Pod {
	if pod, ok := req.New.(*corev1.Pod); ok {
		return pod.DeepCopy()
	}
	return nil
}

// internal is a pod in the form in which upstream's plugins take it.
func internal(t *testing.T, pod *corev1.Pod) *core.Pod {
	t.Helper()
	out := &core.Pod{}
	if err := legacyscheme.Scheme.Convert(pod.DeepCopy(), out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// external is the way back.
func external(t *testing.T, pod *core.Pod) *corev1.Pod {
	t.Helper()
	out := &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// creation is the request that creates a pod.
func creation(pod *core.Pod) admission.Attributes {
	gv := schema.GroupVersion{Version: "v1"}
	return admission.NewAttributesRecord(pod, nil, gv.WithKind("Pod"), namespace, pod.Name, gv.WithResource("pods"), "", admission.Create, nil, false, &user.DefaultInfo{Name: "controller"})
}

// finding is where one of several findings of a LimitRange begins; upstream
// tells them in the order of a map.
var finding = regexp.MustCompile(`(minimum|maximum) \S+ usage per |[^\s\[]+ max limit to request ratio per `)

// words are an error's findings, in an order of their own.
func words(err error) []string {
	if err == nil {
		return nil
	}
	text := err.Error()
	starts := finding.FindAllStringIndex(text, -1)
	if len(starts) == 0 {
		return []string{text}
	}
	out := []string{strings.TrimSuffix(text[:starts[0][0]], "[")}
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		out = append(out, strings.TrimRight(text[at[0]:end], ", ]"))
	}
	slices.Sort(out)
	return out
}

// same compares two refusals by their words.
func same(t *testing.T, ours, theirs error, of ...any) {
	t.Helper()
	if diff := cmp.Diff(words(theirs), words(ours)); diff != "" {
		t.Errorf("differs (-upstream +ours):\n%s", diff)
		for _, obj := range of {
			data, _ := json.Marshal(obj)
			t.Logf("%s", data)
		}
	}
}

// invalid says that the server refused the pod before the plugin could.
func (p *passage) invalid() bool { return p.judged == nil }

// alike compares what was filled in.
func alike(t *testing.T, ours, theirs any) {
	t.Helper()
	if diff := cmp.Diff(theirs, ours, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("differs (-upstream +ours):\n%s", diff)
	}
}
