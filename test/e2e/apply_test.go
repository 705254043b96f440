package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// followed is a scenario whose changes apply makes and follows to their end.
type followed struct {
	scenario
	flags []string // of its apply, besides
	// ends is how its last change ends where that is not Complete. Those before
	// it end as paused.
	ends v1alpha1.Verdict
}

// rollouts are other ways to make a change than those of docs/accuracy.md, and all
// of these, whose large ones wait until the rest is done.
func rollouts() []followed {
	deadline := map[string]bool{"full quota, no pod to spare": true, "full quota, one pod to spare": true,
		"image that never gets ready": true, "anti-affinity, no node to spare": true}
	full := quota("full quota, given up", change(rolling(3, "1", "0"), func(a *app) { a.deadline = 60 }), 3)
	out := []followed{
		{scenario: settled(web(4), verb([]string{"deploy/web", "--replicas", "9"})).named("scale"), ends: v1alpha1.Complete},
		{scenario: settled(web(3), verb([]string{"deploy/web", "--restart"})).named("restart"), ends: v1alpha1.Complete},
		{scenario: settled(web(3), move{apply: []app{web(3).with(v3)}}).named("server-side apply"),
			flags: []string{"--server-side", "--force-conflicts"}, ends: v1alpha1.Complete},
		{scenario: full, flags: []string{"--fail-fast"}, ends: v1alpha1.LimitReached},
	}
	for _, sc := range scenarios() {
		f := followed{scenario: sc, ends: v1alpha1.Complete}
		if deadline[sc.name] {
			f.ends = v1alpha1.DeadlineExceeded
		}
		out = append(out, f)
	}
	return out
}

// exitCodes are those of apply by how the real rollout ends.
var exitCodes = map[v1alpha1.Verdict]int{v1alpha1.Complete: 0, v1alpha1.Paused: 0, v1alpha1.DeadlineExceeded: 4, v1alpha1.LimitReached: 4}

// TestApply follows rollouts of the real controllers. Each ends as it should
// and with the right exit code, every step of them is one that our arithmetic
// gives, and the recording shows the same again.
func TestApply(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.kubectl(t, "", "label", "node", "node-0", "room=narrow")
	s.kubectl(t, "", "label", "node", "node-1", "node-2", "node-3", "room=apart")
	all := rollouts()
	inLanes(t, crowded, len(all), func(i int) (string, int) { return all[i].name, all[i].weight() }, func(t *testing.T, i int) {
		s.followAll(t, all[i], "apply-"+strconv.Itoa(i+1))
	})
}

// followAll sets a scenario up, and makes and follows its changes.
func (s *stage) followAll(t *testing.T, f followed, namespace string) {
	s.within(t, f.scenario, namespace, func(x *scene) {
		for i, m := range f.moves {
			ends := f.ends
			if i < len(f.moves)-1 {
				ends = v1alpha1.Paused
			}
			args, input := slices.Clone(m.plan), ""
			if len(m.apply) > 0 {
				args, input = append([]string{"-f", "-"}, args...), manifests(m.apply)
			}
			x.follow(t, append(args, f.flags...), input, ends)
		}
	})
}

func (x *scene) follow(t *testing.T, args []string, input string, ends v1alpha1.Verdict) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	shown, code := x.run(t, input, slices.Concat([]string{"rollout-sim", "apply"}, args,
		[]string{"--namespace", x.namespace, "--yes", "--driver", "cluster", "--timeout", "240s", "--width", "200", "--record", file})...)
	t.Logf("exit code %d\n%s", code, shown)
	plan := decode(t, x.kubectl(t, "", "rollout-sim", "replay", file, "-o", "json"))
	if plan.Status.Verdict != ends || code != exitCodes[ends] {
		t.Errorf("it ends as %s with exit code %d, want %s and %d", plan.Status.Verdict, code, ends, exitCodes[ends])
	}
	for _, e := range plan.Events {
		if b, ok := e.Detail.(trace.Budgeted); ok && b.Rule == trace.Unexplained {
			line, _ := json.Marshal(e)
			t.Errorf("a step of the real controller is not explained: %s", line)
		}
	}
	again := x.kubectl(t, "", "rollout-sim", "replay", file, "--width", "200")
	if kept := beside.ReplaceAllString(shown, ""); again == "" || !strings.HasSuffix(kept, beside.ReplaceAllString(again, "")) {
		t.Errorf("the recording does not look the same:\n%s", again)
	}
}

// beside is what is said beside the trace.
var beside = regexp.MustCompile(`(?m)^(next|note|paused|driver) .*\n( {11}\S.*\n)*`)

func decode(t *testing.T, text string) *v1alpha1.RolloutPlan {
	t.Helper()
	plan, err := v1alpha1.DecodePlan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// run runs a command that may fail, and returns its output and exit code.
func (s *stage) run(t *testing.T, input string, args ...string) (string, int) {
	t.Helper()
	cmd := s.cluster.Kubectl(t.Context(), args...)
	cmd.Env = append(cmd.Env, "PATH="+s.path)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Logf("stderr: %s", errs.String())
		return out.String(), exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return out.String(), 0
}

// TestApplyRestart kills the API server in the middle of a rollout and starts
// it anew: the rollout is followed to its end all the same.
func TestApplyRestart(t *testing.T) {
	s := newStage(t)
	s.kubectl(t, web(20).manifest(), "apply", "-f", "-")
	s.kubectl(t, "", "rollout", "status", "deploy/web", "--timeout=120s")
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	restarted := make(chan error, 1)
	go func() {
		restarted <- s.restartDuring(t.Context(), file)
	}()
	shown, code := s.run(t, "", "rollout-sim", "apply", "deploy/web", "--image", "app="+v2, "--yes", "--driver", "cluster", "--timeout", "180s", "--width", "200", "--record", file)
	t.Logf("exit code %d\n%s", code, shown)
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	plan := decode(t, s.kubectl(t, "", "rollout-sim", "replay", file, "-o", "json"))
	if code != 0 || plan.Status.Verdict != v1alpha1.Complete || plan.Status.Workloads[0].Pods.Created != 20 {
		t.Errorf("exit code %d, %s, %d pods created", code, plan.Status.Verdict, plan.Status.Workloads[0].Pods.Created)
	}
}

// restartDuring restarts the API server once a recording tells of the first pods.
func (s *stage) restartDuring(ctx context.Context, file string) error {
	for {
		data, err := os.ReadFile(file)
		if err == nil && bytes.Count(data, []byte(`"type":"Created"`)) >= 5 {
			return s.cluster.RestartAPIServer(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no pods were made: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// TestApplyEmbedded drives a rollout on a control plane whose manager runs
// without the two controllers.
func TestApplyEmbedded(t *testing.T) {
	o := cluster.Everything(3)
	o.Controllers = []string{"*", "-deployment-controller", "-replicaset-controller"}
	s := &stage{cluster: cluster.ForTest(t, o)}
	s.path = pathWithPlugin(t)
	shown, code := s.run(t, web(5).manifest(), "rollout-sim", "apply", "-f", "-", "--yes", "--driver", "embedded", "--timeout", "60s", "--width", "200")
	if _, real, _ := strings.Cut(shown, "a real rollout\n"); code != 0 || !strings.Contains(real, "result     Complete after") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}
