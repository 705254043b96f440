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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// followed is a real rollout that apply makes and follows to its end.
type followed struct {
	name    string
	before  app
	also    string
	args    []string
	input   string
	code    int
	verdict v1alpha1.Verdict
}

func rollouts() []followed {
	image := []string{"deploy/web", "--image", "app=" + v2}
	undone := rolling(4, "1", "0")
	undone.deadline = 6
	stuck := undone.with(v2)
	stuck.ready = time.Hour
	full := change(rolling(3, "1", "0"), func(a *app) { a.deadline = 6 })
	return []followed{
		{name: "25% and 25%", before: web(10), args: image, verdict: v1alpha1.Complete},
		{name: "surge 0", before: rolling(6, "0", "2"), args: image, verdict: v1alpha1.Complete},
		{name: "unavailable 0", before: rolling(6, "2", "0"), args: image, verdict: v1alpha1.Complete},
		{name: "Recreate", before: change(web(4), func(a *app) { a.recreate = true }), args: image, verdict: v1alpha1.Complete},
		{name: "minReadySeconds", before: change(web(4), func(a *app) { a.minReady = 3 }), args: image, verdict: v1alpha1.Complete},
		{name: "scale", before: web(4), args: []string{"deploy/web", "--replicas", "9"}, verdict: v1alpha1.Complete},
		{name: "restart", before: web(3), args: []string{"deploy/web", "--restart"}, verdict: v1alpha1.Complete},
		{name: "manifest", before: web(3), args: []string{"-f", "-", "--server-side", "--force-conflicts"}, input: web(3).with(v3).manifest(), verdict: v1alpha1.Complete},
		{name: "never ready", before: undone, args: []string{"-f", "-"}, input: stuck.manifest(), code: 4, verdict: v1alpha1.DeadlineExceeded},
		{name: "full quota", before: full, also: "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {pods: 3}}\n",
			args: append(slices.Clone(image), "--fail-fast"), code: 4, verdict: v1alpha1.DeadlineExceeded},
	}
}

// TestApply follows rollouts of the real controllers. Each ends as it should,
// every step of them is one that our arithmetic gives, and the recording shows
// the same again.
func TestApply(t *testing.T) {
	s := newStage(t)
	for i, f := range rollouts() {
		t.Run(f.name, func(t *testing.T) { s.follow(t, f, "apply-"+strconv.Itoa(i+1)) })
	}
}

func (s *stage) follow(t *testing.T, f followed, namespace string) {
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.kubectl(t, "", "delete", "namespace", namespace, "--wait=false")
	in := []string{"--namespace", namespace}
	if f.also != "" {
		s.kubectl(t, f.also, append([]string{"apply", "-f", "-"}, in...)...)
	}
	s.kubectl(t, f.before.manifest(), append([]string{"apply", "-f", "-"}, in...)...)
	s.kubectl(t, "", append([]string{"rollout", "status", "deploy/web", "--timeout=120s"}, in...)...)
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	args := slices.Concat([]string{"rollout-sim", "apply"}, f.args, in, []string{"--yes", "--driver", "cluster", "--timeout", "120s", "--width", "200", "--record", file})
	shown, code := s.run(t, f.input, args...)
	t.Logf("exit code %d\n%s", code, shown)
	if code != f.code {
		t.Errorf("exit code %d, want %d", code, f.code)
	}
	plan := decode(t, s.kubectl(t, "", "rollout-sim", "replay", file, "-o", "json"))
	if plan.Status.Verdict != f.verdict && !(f.code != 0 && plan.Status.Verdict.WorseThan(v1alpha1.Complete)) {
		t.Errorf("verdict %s, want %s", plan.Status.Verdict, f.verdict)
	}
	for _, e := range plan.Events {
		if b, ok := e.Detail.(trace.Budgeted); ok && b.Rule == trace.Unexplained {
			line, _ := json.Marshal(e)
			t.Errorf("a step of the real controller is not explained: %s", line)
		}
	}
	again := s.kubectl(t, "", "rollout-sim", "replay", file, "--width", "200")
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
	s.path = install(t) + string(os.PathListSeparator) + os.Getenv("PATH")
	shown, code := s.run(t, web(5).manifest(), "rollout-sim", "apply", "-f", "-", "--yes", "--driver", "embedded", "--timeout", "60s", "--width", "200")
	if code != 0 || !strings.Contains(shown, "result     Complete after") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}
