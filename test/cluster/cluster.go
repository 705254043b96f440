package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Cluster is a control plane that runs.
type Cluster struct {
	options  Options
	dir      string
	paths    map[Program]string
	access   access
	watchdog *watchdog
	running  []*process // in the order in which they were started
	etcdPort int
	apiPort  int
}

// patience is how long a program may take to become healthy, on a busy machine too.
const patience = 90 * time.Second

// Start builds what is missing, starts a control plane and returns once every
// part says it is healthy and every node is ready. It takes some seconds when
// the programs are built. The caller must call Close.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	paths, err := Build(ctx, o.Progress, o.programs()...)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rollout-sim-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, dir: dir, paths: paths, access: access{dir: dir}}
	if c.watchdog, err = newWatchdog(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ForTest starts a control plane that ends with the test, and skips the test
// under -short. The programs' logs end up in the test's when it fails.
func ForTest(t testing.TB, o Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	if o.Progress == nil {
		o.Progress = t.Output()
	}
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range c.running {
			if t.Failed() {
				t.Logf("end of %s's log:\n%s", p.name, p.tail())
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.access.prepare(c.options.Users); err != nil {
		return err
	}
	if err := c.startStorage(ctx); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	if _, err := c.Kubeconfig(admin); err != nil {
		return err
	}
	return c.startRest(ctx)
}

// startRest starts what works through the API server, then adds the nodes.
func (c *Cluster) startRest(ctx context.Context) error {
	if len(c.options.Controllers) > 0 {
		if err := c.startControllers(ctx); err != nil {
			return err
		}
	}
	if c.options.Scheduler {
		if err := c.startScheduler(ctx); err != nil {
			return err
		}
	}
	if c.options.kwok() {
		if err := c.startKwok(ctx); err != nil {
			return err
		}
	}
	return c.AddNodes(ctx, c.options.Nodes, c.options.NodeSize)
}

// Config is how a user reaches the API server: "" is the one who may do
// everything. It has client-go's own limits, 5 requests a second; callers who
// want others set them.
func (c *Cluster) Config(user string) (*rest.Config, error) {
	return c.access.config(orAdmin(user))
}

// Kubeconfig is the path of a user's kubeconfig; "" is the one who may do everything.
func (c *Cluster) Kubeconfig(user string) (string, error) {
	return c.access.kubeconfig(orAdmin(user))
}

func orAdmin(user string) string {
	if user == "" {
		return admin
	}
	return user
}

// Kubectl is a kubectl command of the cluster's own version, not yet started;
// Options.Kubectl must have been set.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.paths[Kubectl], args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.adminFile(), "KUBECACHEDIR="+filepath.Join(c.dir, "kubectl-cache"))
	return cmd
}

// Path is where a program's binary is.
func (c *Cluster) Path(p Program) string { return c.paths[p] }

// Dir holds the cluster's data and the programs' logs; it goes with Close.
func (c *Cluster) Dir() string { return c.dir }

// RestartAPIServer kills the API server, as a crash would, and starts it anew
// at the same address. Extra flags are added to those of Options.
func (c *Cluster) RestartAPIServer(ctx context.Context, flags ...string) error {
	if err := c.Kill(APIServer); err != nil {
		return err
	}
	return c.launchAPIServer(ctx, flags...)
}

// Kill ends one program as a crash would. Only the API server can be started again.
func (c *Cluster) Kill(program Program) error { return c.end(string(program)) }

// StopNode ends what plays a node's kubelet, as a crash of the machine would:
// no sign of life comes from it any more, and it hears of nothing. Options.Stoppable
// must have been set.
func (c *Cluster) StopNode(name string) error { return c.end(kubeletOf(name)) }

// end kills the process of a name.
func (c *Cluster) end(name string) error {
	i := slices.IndexFunc(c.running, func(p *process) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("%s is not running", name)
	}
	p := c.running[i]
	c.running = slices.Delete(c.running, i, i+1)
	p.kill()
	return c.watchdog.ended(p)
}

// Close ends every program and removes the folder.
func (c *Cluster) Close() error {
	var errs []error
	for i := len(c.running) - 1; i >= 0; i-- {
		errs = append(errs, c.end(c.running[i].name))
	}
	return errors.Join(append(errs, c.watchdog.close())...)
}
