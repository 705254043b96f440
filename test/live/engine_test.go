package live

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// build builds a command of a module in a folder.
func build(t *testing.T, folder, command string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(command))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, command)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", command, err, out)
	}
	return path
}

// cluster is a control plane run by the command of a module of its own, which
// needs far more to build than this one.
type cluster struct {
	kubeconfig string
	orders     io.Writer
	answers    *bufio.Reader
}

// startCluster starts a control plane that ends with the test.
func startCluster(t *testing.T, flags ...string) *cluster {
	t.Helper()
	cmd := exec.Command(build(t, "..", "./cluster/cmd/cluster"), flags...)
	cmd.Dir = ".." // where it finds its tools
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // may have ended
		_ = cmd.Wait()
	})
	c := &cluster{orders: stdin, answers: bufio.NewReader(stdout)}
	line, err := c.answers.ReadString('\n')
	path, found := strings.CutPrefix(strings.TrimSpace(line), "export KUBECONFIG=")
	if err != nil || !found {
		t.Fatalf("the control plane did not start: %q, %v", line, err)
	}
	c.kubeconfig = path
	return c
}

// restartAPIServer crashes the API server and returns once it serves again.
func (c *cluster) restartAPIServer(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c.orders, "restart\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := c.answers.ReadString('\n'); err != nil || line != "restarted\n" {
		t.Fatalf("the API server did not restart: %q, %v", line, err)
	}
}

// engine is a process that runs the controllers command.
type engine struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex
	lines []string // of standard error
	out   strings.Builder
}

// quick makes a killed holder's lease run out soon.
var quick = []string{"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=500ms"}

// startEngine starts one that ends with the test at the latest.
func (p *plane) startEngine(t *testing.T, flags ...string) *engine {
	t.Helper()
	return p.launch(t, slices.Concat([]string{"controllers"}, quick, flags)...)
}

// launch starts a command of the plugin.
func (p *plane) launch(t *testing.T, args ...string) *engine {
	t.Helper()
	e := &engine{cmd: exec.Command(p.program, append(args, "--kubeconfig", p.cluster.kubeconfig)...), done: make(chan struct{})}
	stderr, err := e.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.cmd.Stdout = writer{e}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go e.read(stderr)
	t.Cleanup(func() {
		e.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", args[0], e.said())
		}
	})
	return e
}

func (e *engine) read(r io.Reader) {
	defer close(e.done)
	for s := bufio.NewScanner(r); s.Scan(); {
		e.mu.Lock()
		e.lines = append(e.lines, s.Text())
		e.mu.Unlock()
	}
	_ = e.cmd.Wait() // ProcessState tells
}

// writer keeps standard output.
type writer struct{ *engine }

func (w writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (e *engine) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.lines, "\n")
}

func (e *engine) printed() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.out.String()
}

func (e *engine) running() bool { return strings.Contains(e.said()+"\n", "running\n") }

func (e *engine) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// kill ends it as a crash would.
func (e *engine) kill() {
	_ = e.cmd.Process.Kill() // may have ended
	<-e.done
}

// stop ends it in good order and returns its exit code.
func (e *engine) stop(t *testing.T) int {
	t.Helper()
	if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return e.exit(t)
}

// exit waits for its end and returns its exit code.
func (e *engine) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-e.done:
	case <-time.After(time.Minute):
		t.Fatal("the engine has not ended after a minute")
	}
	return e.cmd.ProcessState.ExitCode()
}

func eventually(t *testing.T, within time.Duration, what string, is func() (bool, string)) {
	t.Helper()
	for until := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		ok, state := is()
		if ok {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("not within %s: %s; it is: %s", within, what, state)
		}
	}
}
