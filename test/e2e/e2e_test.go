package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// stage is the control plane that all scenarios play on.
type stage struct {
	cluster *cluster.Cluster
	client  kubernetes.Interface
	path    string // PATH with the plugin on it
}

func TestPredictions(t *testing.T) {
	s := newStage(t)
	s.kubectl(t, "", "label", "node", "node-0", "room=narrow")
	s.kubectl(t, "", "label", "node", "node-1", "node-2", "node-3", "room=apart")
	all := scenarios()
	judged := make([][]row, len(all))
	inLanes(t, unhurried, len(all), func(i int) (string, int) { return all[i].name, all[i].weight() }, func(t *testing.T, i int) {
		judged[i] = s.judge(t, all[i], "scenario-"+strconv.Itoa(i+1))
	})
	rows := slices.Concat(judged...)
	t.Log("\n" + table(rows))
	if off := offScenarios(rows); len(off) > 1 {
		t.Errorf("more than one scenario went otherwise than predicted: %s", strings.Join(off, "; "))
	}
	if *rewrite {
		writeSection(t, accuracy, "Scenarios", table(rows))
	}
	if i := slices.IndexFunc(rows, func(r row) bool { return r.scenario == costly }); i >= 0 {
		compareCosts(t, rows[i])
	}
}

// Rooms are how many replicas the scenarios that are played at the same time may
// have. They share the controllers' limits, 20 requests a second and 30 at
// once, of which a rollout of ten replicas takes some twenty when it begins.
const (
	unhurried = 16 // no scenario slows another down
	crowded   = 48 // some do: for tests that compare no times
)

// inLanes runs n tests of so much weight each beside one another, as far as
// there is room, in their order. One too heavy for that runs alone.
func inLanes(t *testing.T, room int64, n int, of func(i int) (name string, weight int), test func(t *testing.T, i int)) {
	lanes := semaphore.NewWeighted(room)
	var all sync.WaitGroup
	for i := range n {
		name, replicas := of(i)
		weight := min(int64(replicas), room)
		if err := lanes.Acquire(t.Context(), weight); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer lanes.Release(weight)
			t.Run(name, func(t *testing.T) { test(t, i) })
		})
	}
	all.Wait()
}

// attempts is how often a scenario is really played, at most, until it goes as
// it was predicted before the first time: chance decides in reality too.
const attempts = 5

// judge plays a scenario and holds its prediction against what was real.
func (s *stage) judge(t *testing.T, sc scenario, namespace string) []row {
	mine := s.play(t, sc, namespace)
	again := func(run int) []row { return s.play(t, sc, namespace+"-run-"+strconv.Itoa(run)) }
	if sc.paced {
		mine[0].among = s.spread(t, sc, mine[0], again)
		t.Log("\n" + table(mine))
		return mine
	}
	for run := 2; run <= attempts && wrong(mine); run++ {
		for i, r := range again(run) {
			mine[i].tryRun(run, r.real)
		}
	}
	return mine
}

// spread is the real runs that are kept, and today's.
func (s *stage) spread(t *testing.T, sc scenario, today row, again func(run int) []row) *spread {
	if *rerecord {
		runs := []rolled{today.real}
		for run := 2; run <= keptRuns; run++ {
			runs = append(runs, again(run)[0].real)
		}
		writeKept(t, sc.name, runs)
	}
	return &spread{int32(sc.start[0][0].replicas), append(readKept(t, sc.name), today.real), today.otherwise}
}

func newStage(t *testing.T) *stage { return stageOf(t, cluster.Everything(12)) }

func stageOf(t *testing.T, o cluster.Options) *stage {
	s := &stage{cluster: cluster.ForTest(t, o)}
	cfg, err := s.cluster.Config("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	if s.client, err = kubernetes.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	s.path = pathWithPlugin(t)
	return s
}

// installed is the folder of the plugin, which is built once for all tests.
var installed string

// install builds the plugin as make does.
var install = sync.OnceValue(func() error {
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(installed, "kubectl-rollout_sim"), "./cmd/kubectl-rollout_sim")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the plugin: %w\n%s", err, out)
	}
	return nil
})

// pathWithPlugin is a PATH on which kubectl finds the plugin.
func pathWithPlugin(t *testing.T) string {
	t.Helper()
	if err := install(); err != nil {
		t.Fatal(err)
	}
	return installed + string(os.PathListSeparator) + os.Getenv("PATH")
}

// kubectl runs a command that must succeed and returns what it prints.
func (s *stage) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := s.try(t.Context(), input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// command is a kubectl that finds the plugin.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := s.cluster.Kubectl(ctx, args...)
	cmd.Env = append(cmd.Env, "PATH="+s.path)
	return cmd
}

func (s *stage) try(ctx context.Context, input string, args ...string) (string, error) {
	cmd := s.command(ctx, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(args, " "), err, exit.Stderr, out)
	}
	return string(out), err
}

// scene is one scenario while it is played.
type scene struct {
	*stage
	namespace string
	recorder  *recorder
}

// scene makes a namespace and has it recorded.
func (s *stage) scene(t *testing.T, namespace string) *scene {
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &scene{s, namespace, record(t, s.client, namespace)}
}

// play sets a scenario up and makes its moves.
func (s *stage) play(t *testing.T, sc scenario, namespace string) (rows []row) {
	s.within(t, sc, namespace, func(x *scene) {
		for _, m := range sc.moves {
			rows = append(rows, x.perform(t, sc, m))
		}
	})
	return rows
}

// within sets a scenario up in a namespace of its own, which goes when its moves
// are made.
func (s *stage) within(t *testing.T, sc scenario, namespace string, moves func(*scene)) {
	t.Helper()
	x := s.scene(t, namespace)
	defer s.clear(t, namespace, sc.paced)
	if sc.also != "" {
		x.do(t, sc.also, "apply", "-f", "-")
	}
	for _, apps := range sc.start {
		x.settle(t, apps)
	}
	for _, args := range sc.begun {
		mark := x.recorder.mark()
		x.do(t, "", args...)
		x.awaitCalm(t, mark)
	}
	moves(x)
}

// clear takes a namespace away, its ReplicaSets first: they would try to replace
// each pod that goes, and every refusal counts against the limit on the calls of
// what else is played. Many pods on their way out are waited for, since they
// would slow down whatever comes next.
func (s *stage) clear(t *testing.T, namespace string, wait bool) {
	t.Helper()
	s.kubectl(t, "", "delete", "deployments,replicasets", "--all", "--namespace", namespace, "--wait=false")
	s.kubectl(t, "", "delete", "namespace", namespace, fmt.Sprintf("--wait=%t", wait))
}

func (x *scene) do(t *testing.T, input string, args ...string) string {
	t.Helper()
	return x.kubectl(t, input, append(slices.Clone(args), "--namespace", x.namespace)...)
}

// handful is as many pods as are started in parts. The times that a pod's
// conditions tell are cut to whole seconds; of pods that all began at the same
// moment all are cut alike, so that their mean says less than it seems to.
const handful = 20

// settle applies Deployments and waits until they are complete.
func (x *scene) settle(t *testing.T, apps []app) {
	t.Helper()
	for _, a := range apps {
		whole, parts := a.replicas, min(a.replicas, 4)
		if whole > handful || x.exists(t, a.name) {
			parts = 1
		}
		a.replicas = whole / parts
		x.do(t, a.manifest(), "apply", "-f", "-")
		for part := 2; part <= parts; part++ {
			x.do(t, "", "scale", "deploy/"+a.name, "--replicas", strconv.Itoa(whole*part/parts))
		}
	}
	for _, a := range apps {
		x.do(t, "", "rollout", "status", "deploy/"+a.name, "--timeout=180s")
		if a.replicas > handful {
			x.rest(t)
		}
	}
}

// rested is longer than the controllers' clients need to be allowed their full
// burst of 30 calls again.
const rested = 2 * time.Second

// rest waits until nothing has happened for a while. What many pods made the
// controllers do would otherwise count against what they do next.
func (x *scene) rest(t *testing.T) {
	t.Helper()
	for time.Since(x.recorder.last()) < rested && t.Context().Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

func (x *scene) exists(t *testing.T, name string) bool {
	return x.do(t, "", "get", "deploy/"+name, "--ignore-not-found", "-o", "name") != ""
}

// awaitCalm waits until what a command began has come to the end of a wave.
func (x *scene) awaitCalm(t *testing.T, mark int) {
	t.Helper()
	began := time.Now()
	for {
		last := x.recorder.scaledSince(mark)
		if time.Since(began) > calm && time.Since(last) > calm {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// perform plans a move, makes it and records what comes of it.
func (x *scene) perform(t *testing.T, sc scenario, m move) row {
	t.Helper()
	plan, do, names, input := m.plan, m.do, []string{"web"}, ""
	if len(m.apply) > 0 {
		input, names = manifests(m.apply), nil
		plan, do = append([]string{"-f", "-"}, plan...), []string{"apply", "-f", "-"}
		for _, a := range m.apply {
			names = append(names, a.name)
		}
	}
	r := row{scenario: sc.name, move: m.name}
	began := time.Now()
	told := x.plan(t, input, plan)
	r.predicted, r.planning, r.world = predicted(told), time.Since(began), told.Spec.World
	if sc.paced {
		for seed := 2; seed <= seeds; seed++ {
			r.otherwise = append(r.otherwise, predicted(x.plan(t, input, append(slices.Clone(plan), "--seed", strconv.Itoa(seed)))))
		}
	}
	mark, busy := x.recorder.mark(), x.charge(t)
	x.do(t, input, do...)
	r.real = x.await(t, mark, names, r.predicted.took)
	r.busy = busy()
	t.Logf("planned in %s\n%s", r.planning.Round(time.Millisecond), table([]row{r}))
	if len(r.errors()) > 0 {
		t.Logf("world: %s\npredicted steps:\n%sreal steps:\n%s", strings.Join(r.world, "; "), r.predicted.story(), r.real.story())
	}
	return r
}

// seeds is how many courses of a large change are planned, besides the first only for the range of the fewest available.
const seeds = 5

func (x *scene) plan(t *testing.T, input string, args []string) *v1alpha1.RolloutPlan {
	t.Helper()
	told, err := v1alpha1.DecodePlan([]byte(x.do(t, input, append([]string{"rollout-sim", "plan", "-o", "json"}, args...)...)))
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// await records until the change is over, or far longer than predicted.
func (x *scene) await(t *testing.T, mark int, names []string, expected time.Duration) rolled {
	t.Helper()
	deadline := time.Now().Add(2*expected + time.Minute)
	r, taken := newReality(x.recorder.all()[:mark], names), mark
	for {
		events := x.recorder.all()
		for _, e := range events[taken:] {
			r.take(e)
		}
		taken = len(events)
		if r.over(time.Now()) || time.Now().After(deadline) {
			return r.rolled()
		}
		time.Sleep(250 * time.Millisecond)
	}
}
