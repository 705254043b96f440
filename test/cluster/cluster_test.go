package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations:
        pod-create.stage.kwok.x-k8s.io/delay: 10ms
        pod-create.stage.kwok.x-k8s.io/jitter-delay: 10ms
        pod-ready.stage.kwok.x-k8s.io/delay: 100ms
        pod-ready.stage.kwok.x-k8s.io/jitter-delay: 100ms
    spec: {containers: [{name: web, image: "nginx:1"}]}
`

// A whole control plane rolls a Deployment out, before and after its API
// server was restarted, and leaves nothing behind.
func TestEverything(t *testing.T) {
	o := cluster.Everything(3)
	o.Users = []string{"reader"}
	o.NodeSize = cluster.NodeSize{CPU: "4", Pods: 10}
	c := cluster.ForTest(t, o)

	if got := kubectl(t, c, "", "get", "nodes", "-o", "jsonpath={.items[*].status.allocatable.cpu} {.items[*].status.conditions[?(@.type=='Ready')].status}"); got != "4 4 4 True True True" {
		t.Errorf("nodes: %s", got)
	}
	kubectl(t, c, web, "apply", "-f", "-")
	kubectl(t, c, "", "rollout", "status", "deployment/web", "--timeout=60s")

	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, strings.ReplaceAll(web, "nginx:1", "nginx:2"), "apply", "-f", "-")
	kubectl(t, c, "", "rollout", "status", "deployment/web", "--timeout=60s")

	if got := kubectl(t, c, "", "version", "-o", "json"); strings.Count(got, `"gitVersion": "v1.37.2"`) != 2 {
		t.Errorf("client and server are not both v1.37.2: %s", got)
	}
	path, err := c.Kubeconfig("reader")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Kubectl(t.Context(), "--kubeconfig="+path, "get", "pods").CombinedOutput()
	if err == nil || !strings.Contains(string(out), `User "reader" cannot list resource "pods"`) {
		t.Errorf("a user without rights may read pods: %v %s", err, out)
	}
	if err := c.AddNodes(t.Context(), 2, cluster.NodeSize{}); err != nil {
		t.Fatal(err)
	}
	if got := kubectl(t, c, "", "get", "node", "node-4", "-o", "jsonpath={.status.allocatable.cpu}"); got != "64" {
		t.Errorf("the last node added has %s CPUs", got)
	}
}

// A node that is stopped answers nothing any more; the other goes on.
func TestStopNode(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 2, Stoppable: true, Kubectl: true})
	kubectl(t, c, strings.Join([]string{pod("lost", "node-0"), pod("kept", "node-1")}, "---"), "apply", "-f", "-")
	kubectl(t, c, "", "wait", "pod/lost", "pod/kept", "--for=condition=Ready", "--timeout=60s")
	if err := c.StopNode("node-0"); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "", "delete", "pod/lost", "pod/kept", "--wait=false")
	kubectl(t, c, "", "wait", "pod/kept", "--for=delete", "--timeout=60s")
	time.Sleep(2 * time.Second) // as long again as the other took to go, and longer
	if got := kubectl(t, c, "", "get", "pods", "-o", "jsonpath={.items[*].metadata.name} {.items[*].metadata.deletionGracePeriodSeconds}"); got != "lost 1" {
		t.Errorf("pods: %q", got)
	}
	if err := c.StopNode("node-0"); err == nil {
		t.Error("a node is stopped twice")
	}
}

func pod(name, node string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {nodeName: %s, terminationGracePeriodSeconds: 1, containers: [{name: web, image: "nginx:1"}]}
`, name, node)
}

func TestNothingIsLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s is still there", c.Dir())
	}
	if out, err := exec.Command("ps", "-A", "-o", "args=").Output(); err != nil || strings.Contains(string(out), c.Dir()) {
		t.Errorf("processes of %s are still there (%v)", c.Dir(), err)
	}
}

func TestAFlagThatIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c, err := cluster.Start(t.Context(), cluster.Options{Flags: map[cluster.Program][]string{cluster.APIServer: {"--no-such-flag"}}})
	if err == nil {
		_ = c.Close()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("the error does not show the program's own words: %v", err)
	}
}

// kubectl runs a command that must succeed and returns what it prints.
func kubectl(t *testing.T, c *cluster.Cluster, input string, args ...string) string {
	t.Helper()
	cmd := c.Kubectl(t.Context(), args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
