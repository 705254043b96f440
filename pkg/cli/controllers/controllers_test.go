package controllers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: here, namespace: team}}]
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: here, user: {}}]
`

// parsed is what flags come to, with a kubeconfig whose context has the namespace team.
func parsed(t *testing.T, args ...string) (got *Options, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig = &path
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	cmd := NewCommand(flags, streams, func(_ context.Context, o *Options) error { got = o; return nil })
	flags.AddFlags(cmd.Flags())
	cmd.SetArgs(append([]string{"--kubernetes-version=1.37"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return got, cmd.Execute()
}

func TestDefaults(t *testing.T) {
	o, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	if o.Host.Namespace != "" || o.Host.MinResync != 12*time.Hour || o.Version != rollout.LatestVersion {
		t.Errorf("namespace %q, resync %s, version %s: want all, 12 h and the latest", o.Host.Namespace, o.Host.MinResync, o.Version)
	}
	want := live.Lease{Namespace: "kube-system", Name: "rollout-sim-controllers", Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	if diff := cmp.Diff(&want, o.Host.Lease); diff != "" {
		t.Errorf("the lease is not the usual one:\n%s", diff)
	}
	for _, spec := range o.specs() {
		if spec.Workers != 5 || spec.QPS != 20 || spec.Burst != 30 {
			t.Errorf("%s: %d workers, %v requests a second, burst %d: want 5, 20 and 30", spec.Name, spec.Workers, spec.QPS, spec.Burst)
		}
	}
	if tracer, err := o.tracer(); tracer != nil || err != nil {
		t.Errorf("a tracer without --detail (error %v), want none", err)
	}
}

func TestNamespace(t *testing.T) {
	for _, c := range []struct{ args, namespace, lease string }{
		{"", "", "kube-system"}, // the context's own namespace does not limit
		{"-n shop", "shop", "shop"},
		{"-n shop -A", "", "kube-system"},
		{"-n shop --lease-namespace locks", "shop", "locks"},
		{"-n shop --leader-elect=false", "shop", ""},
	} {
		o, err := parsed(t, strings.Fields(c.args)...)
		if err != nil {
			t.Fatal(err)
		}
		lease := ""
		if o.Host.Lease != nil {
			lease = o.Host.Lease.Namespace
		}
		if o.Host.Namespace != c.namespace || lease != c.lease {
			t.Errorf("%q: namespace %q, lease in %q: want %q and %q", c.args, o.Host.Namespace, lease, c.namespace, c.lease)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--concurrent-replicaset-syncs=0": "take at least 1",
		"--kube-api-burst=0":              "takes at least 1",
		"--min-resync-period=0s":          "more than nothing",
		"-o yaml":                         "it takes jsonl",
		"-o jsonl":                        "pass both",
		"--detail=everything":             "must be one of [decisions pods syncs]",
		"--color=red":                     "red",
		"--kubernetes-version=1.9":        "not supported",
		"web":                             "unknown command",
	} {
		if _, err := parsed(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", args, err, want)
		}
	}
}

// Events go to standard output as they happen, no deeper than asked.
func TestTracer(t *testing.T) {
	web := trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}
	events := []trace.Event{
		{Seq: 1, Actor: trace.ActorYou, Object: web, Detail: trace.Changed{Verb: "create"}},
		{Seq: 2, Cause: 1, Actor: trace.ActorDeployment, Object: web, Detail: trace.SyncBegan{}},
	}
	for args, want := range map[string][]string{
		"--detail":                        {"created", "pass"},
		"--detail=pods":                   {"created"},
		"--detail=pods -o jsonl":          {`"kind":"RolloutPlan"`, `"type":"Changed"`},
		"--detail=syncs --output=jsonl":   {`"kind":"RolloutPlan"`, `"type":"Changed"`, `"type":"SyncBegan"`},
		"--detail=syncs --color=never -A": {"created", "pass"},
	} {
		o, err := parsed(t, strings.Fields(args)...)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		tracer, err := o.tracer()
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		for _, e := range events {
			tracer(e)
		}
		lines := strings.Split(strings.TrimSpace(o.Out.(interface{ String() string }).String()), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%s: %d lines, want %d: %q", args, len(lines), len(want), lines)
		}
		for i, line := range lines {
			if !strings.Contains(line, want[i]) {
				t.Errorf("%s: line %d is %q, want it to have %q", args, i+1, line, want[i])
			}
		}
	}
}

// The same problem is told once in a row.
func TestProblems(t *testing.T) {
	o, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	tell := o.problems()
	for _, text := range []string{"a", "a", "b\x1b[31m", "a"} {
		tell(errors.New(text))
	}
	tell(fmt.Errorf("a pass: %w", &replicaset.StaleReadError{}))
	got := o.ErrOut.(interface{ String() string }).String()
	if strings.Count(got, "warning: ") != 3 || strings.Contains(got, "\x1b") {
		t.Errorf("told %q, want three warnings without escapes", got)
	}
}

func TestWayOut(t *testing.T) {
	if err := WayOut(&live.OccupiedError{How: "x holds a lease"}); !strings.Contains(err.Error(), "--force") {
		t.Errorf("%v, want it to name --force", err)
	}
	if err := WayOut(errors.New("no")); err.Error() != "no" {
		t.Errorf("%v, want it as it was", err)
	}
}
