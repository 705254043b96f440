package live

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var conformance = flag.Bool("conformance", false, "build and run Kubernetes' own end-to-end suite for Deployments and ReplicaSets")

// needsNetwork is the one spec of the focus that talks to its pods, which a
// made-up node does not run: it fails under kube-controller-manager here too.
const needsNetwork = "should serve a basic image on each replica with a public image"

// judged is how many specs of the focus must pass: as many as under
// kube-controller-manager v1.37.2 on made-up nodes.
const judged = 17

// TestConformance lets Kubernetes' own suite judge the engine.
func TestConformance(t *testing.T) {
	if !*conformance {
		t.Skip("needs -conformance: builds Kubernetes' end-to-end suite")
	}
	suite := buildSuite(t)
	p := &plane{program: build(t, "../..", "./cmd/kubectl-rollout_sim"),
		cluster: startCluster(t, "--controllers=*,-deployment-controller,-replicaset-controller")}
	e := p.startEngine(t)
	eventually(t, 2*time.Minute, "the engine runs", func() (bool, string) { return e.running(), e.said() })
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), suite,
		"--kubeconfig="+p.cluster.kubeconfig, "--provider=skeleton", "--num-nodes=3",
		`--ginkgo.focus=\[sig-apps\] (Deployment|ReplicaSet)`, "--ginkgo.skip="+needsNetwork,
		"--ginkgo.json-report="+report, "--ginkgo.no-color")
	out, err := cmd.CombinedOutput()
	passed, others := verdicts(t, report)
	t.Logf("%d specs passed:\n%s", len(passed), strings.Join(passed, "\n"))
	if err != nil || len(passed) != judged {
		t.Errorf("%d specs passed, want %d; these did not: %q (%v)\n%s", len(passed), judged, others, err, tail(out, 20000))
	}
	if code := e.stop(t); code != 0 {
		t.Errorf("the engine's exit code is %d, want 0", code)
	}
}

// buildSuite builds the suite into the user's cache, where the control plane's programs are too.
func buildSuite(t *testing.T) string {
	t.Helper()
	const version = "v1.37.2"
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "rollout-sim", "tools", "kubernetes-"+version)
	path := filepath.Join(folder, "e2e.test")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	const stamp = "-X k8s.io/component-base/version."
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-trimpath",
		"-ldflags", "-s -w "+stamp+"gitVersion="+version+" "+stamp+"gitMajor=1 "+stamp+"gitMinor=37",
		"-o", path+".part", "k8s.io/kubernetes/test/e2e")
	cmd.Dir = filepath.Join("tools", "e2e")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the suite: %v\n%s", err, out)
	}
	if err := os.Rename(path+".part", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// verdicts reads Ginkgo's report: the specs that passed and those that ran and did not.
func verdicts(t *testing.T, report string) (passed, others []string) {
	t.Helper()
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("the suite left no report: %v", err)
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeType            string
			LeafNodeText            string
			State                   string
			RunTime                 time.Duration
		}
	}
	if err := json.Unmarshal(data, &suites); err != nil {
		t.Fatal(err)
	}
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			name := strings.Join(append(slices.Clone(spec.ContainerHierarchyTexts), spec.LeafNodeText), " ")
			switch {
			case spec.LeafNodeType != "It" || spec.State == "skipped" || spec.State == "pending":
			case spec.State == "passed":
				passed = append(passed, fmt.Sprintf("%s: %s", name, spec.RunTime.Round(time.Second)))
			default:
				others = append(others, name+": "+spec.State)
			}
		}
	}
	return passed, others
}

func tail(out []byte, n int) []byte { return out[max(0, len(out)-n):] }
