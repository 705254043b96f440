package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

const (
	// mostStart is in what kubectl works to tell its own version, which is little
	// more than to start. Both are measured in turns: seconds depend on the
	// machine and on what else it does, their proportion hardly.
	mostStart = 1.3
	// starts is how often each command is run. The least is compared: what is
	// more is the machine's other work.
	starts = 9
)

// TestStart holds what people wait for at every call, the help of each command
// and the plan of ten replicas, against the start of kubectl. None of it talks to
// the cluster of the kubeconfig. The program is no larger than kubectl, which is
// built with the same flags.
func TestStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds kubectl")
	}
	programs, err := cluster.Build(t.Context(), t.Output(), cluster.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	pathWithPlugin(t)
	if size, most := sizeOf(t, filepath.Join(installed, "kubectl-rollout_sim")), sizeOf(t, programs[cluster.Kubectl]); size > most {
		t.Errorf("the program has %d bytes, %d more than kubectl", size, size-most)
	}
	c := newCaller(t)
	commands := []call{{"kubectl version --client", programs[cluster.Kubectl], []string{"version", "--client"}}}
	for _, name := range append([]string{""}, c.subcommands(t)...) {
		commands = append(commands, ours(append(strings.Fields(name), "--help")...))
	}
	commands = append(commands, ours("plan", "--from", filepath.Join("..", "..", "examples", "web.yaml"), "-f", filepath.Join("..", "..", "examples", "web-next.yaml")))
	least := make([]time.Duration, len(commands))
	for range starts {
		for i, command := range commands {
			if took := c.work(t, command); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	for i, command := range commands {
		share := least[i].Seconds() / least[0].Seconds()
		t.Logf("%-60s %4.0f ms  %.2f", command.name, least[i].Seconds()*1000, share)
		if share > mostStart {
			t.Errorf("%s works %.2f times as much as %s, want %.2f at most", command.name, share, commands[0].name, mostStart)
		}
	}
	if n := c.came(t); n > 0 {
		t.Errorf("%d connections to the cluster of the kubeconfig", n)
	}
	// The same kubeconfig leads a plan of what is in the cluster there.
	if out, err := c.command(t.Context(), ours("plan", "deploy/web")).CombinedOutput(); err == nil || c.came(t) == 0 {
		t.Errorf("a plan from the cluster makes no connection: %v\n%s", err, out)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// call is a command that is measured.
type call struct {
	name string
	path string
	args []string
}

func ours(args ...string) call {
	return call{"rollout-sim " + strings.Join(args, " "), filepath.Join(installed, "kubectl-rollout_sim"), args}
}

// caller runs commands with a kubeconfig whose cluster ends every connection.
type caller struct {
	env         []string
	address     string
	connections atomic.Int64
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	c := &caller{address: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.connections.Add(1)
			conn.Close()
		}
	}()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: here, user: me}}],
clusters: [{name: here, cluster: {server: "https://%s"}}], users: [{name: me, user: {token: secret}}]}`, c.address)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.env = append(os.Environ(), "KUBECONFIG="+path)
	return c
}

// came is how many connections there have been since it was last asked. They are
// taken in their order: when one of its own ends, all before it are counted.
func (c *caller) came(t *testing.T) int64 {
	t.Helper()
	last, err := net.Dial("tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	_, _ = io.Copy(io.Discard, last) // until it is ended
	return c.connections.Swap(0) - 1
}

func (c *caller) command(ctx context.Context, what call) *exec.Cmd {
	cmd := exec.CommandContext(ctx, what.path, what.args...)
	cmd.Env = c.env
	return cmd
}

// work is the processor time that a command takes from start to end.
func (c *caller) work(t *testing.T, what call) time.Duration {
	t.Helper()
	cmd := c.command(t.Context(), what)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", what.name, err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// subcommands are the program's, as it completes them, with those below them.
func (c *caller) subcommands(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, parent := range []string{"", "completion"} {
		out, err := c.command(t.Context(), ours(append([]string{"__complete"}, append(strings.Fields(parent), "")...)...)).Output()
		if err != nil {
			t.Fatal(err, stderrOf(err))
		}
		for line := range strings.Lines(string(out)) {
			if name, _, ok := strings.Cut(line, "\t"); ok {
				all = append(all, strings.TrimSpace(parent+" "+name))
			}
		}
	}
	for _, name := range []string{"plan", "apply", "explain", "completion bash"} {
		if !slices.Contains(all, name) {
			t.Fatalf("%s is not among the commands %q", name, all)
		}
	}
	return all
}

// stderrOf is what a command that failed said.
func stderrOf(err error) string {
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return string(exited.Stderr)
	}
	return ""
}
