package plan_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/plan"
)

// fifty is the manifest of the README with fifty replicas.
func fifty(tb testing.TB) string {
	data, err := os.ReadFile("../../../examples/web.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "web.yaml")
	if err := os.WriteFile(file, bytes.Replace(data, []byte("replicas: 10"), []byte("replicas: 50"), 1), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// run runs the command as a user types it and returns what it printed.
func run(tb testing.TB, args ...string) string {
	streams, _, out, errs := genericiooptions.NewTestIOStreams()
	cmd := plan.NewCommand(genericclioptions.NewConfigFlags(true), streams, nil)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		tb.Fatalf("%v: %v\n%s", args, err, errs)
	}
	return out.String()
}

// BenchmarkRuns is plan --runs of a rollout of fifty replicas; what is shown is
// the time of one of the runs.
func BenchmarkRuns(b *testing.B) {
	file := fifty(b)
	b.ReportAllocs()
	run(b, "--offline", "-f", file, "--image", "app=nginx:1.26", "--ready-after", "2s..9s", "--runs", fmt.Sprint(b.N))
}
