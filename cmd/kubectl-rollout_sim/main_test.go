package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs are what tests find on their PATH.
var programs = map[string]func(){"kubectl-rollout_sim": main}

func TestMain(m *testing.M) { testscript.Main(m, programs) }

// TestScript runs the real main on the scripts of testdata/script.
func TestScript(t *testing.T) {
	params := scriptParams(t)
	params.Dir = "testdata/script"
	testscript.Run(t, params)
}

// scriptParams are what scripts find: the folder of examples, no kubeconfig,
// inputs that are bad, and the commands that they have besides testscript's.
func scriptParams(t *testing.T) testscript.Params {
	t.Helper()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-such-kubeconfig"))
			env.Setenv("NO_COLOR", "1")
			return writeBadFiles(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "oneerror": oneError, "cluster": cluster, "serve": serve, "requests": requests,
			"edit": edit, "meanwhile": meanwhile, "midway": midway, "paused": paused, "ends": ends, "plugin": plugin, "workload": workload, "sametail": sameTail, "pick": pick,
		},
	}
}

// writeBadFiles makes the inputs that a script cannot hold.
func writeBadFiles(dir string) error {
	garbage := make([]byte, 2<<20)
	state := uint32(1)
	for i := range garbage {
		state = state*1664525 + 1013904223
		garbage[i] = byte(state >> 24)
	}
	for name, data := range map[string][]byte{
		"garbage.yaml": garbage,
		"text.yaml":    bytes.Repeat([]byte("no yaml of an object; "), 100_000),
		"nul.yaml":     []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\x00b\n"),
		"escape.yaml":  []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: \"a\\e[31mb\\nerror: forged\"\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// exits runs the program and checks its exit code: exits CODE ARGS….
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE [ARGS…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("kubectl-rollout_sim", args[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s", got, want, ts.ReadFile("stderr"))
	}
}

// result is the line that says how a rollout ends.
var result = regexp.MustCompile(`(?m)^result +(\S+?),? .*$`)

// ends checks how the real rollout that was followed last has ended, which is
// told after the plan's own end, and puts what was told of it into followed.txt:
// ends VERDICT.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ends VERDICT")
	}
	plan, real, found := strings.Cut(ts.ReadFile("stdout"), "  world         a real rollout\n")
	told := result.FindAllStringSubmatch(real, -1)
	if !found || len(result.FindAllString(plan, -1)) != 1 || len(told) != 1 || told[0][1] != args[0] {
		ts.Fatalf("the real rollout is told to end as %q, want %s", told, args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs("followed.txt"), []byte(real), 0o600))
}

// oneError checks that the last program printed nothing but one error, which
// holds a text: oneerror TEXT.
func oneError(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oneerror TEXT")
	}
	stderr := ts.ReadFile("stderr")
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout is not empty: %.200s", out)
	}
	if !strings.HasPrefix(stderr, "error: ") || strings.Count(stderr, "\nerror: ") > 0 {
		ts.Fatalf("not exactly one error: %.500q", stderr)
	}
	if !strings.Contains(stderr, args[0]) {
		ts.Fatalf("%q is not in the error: %.500q", args[0], stderr)
	}
	for _, r := range stderr {
		if r != '\n' && !strconv.IsPrint(r) {
			ts.Fatalf("the error has a control character: %.500q", stderr)
		}
	}
	if len(stderr) > 1500 {
		ts.Fatalf("the error has %d bytes", len(stderr))
	}
}
