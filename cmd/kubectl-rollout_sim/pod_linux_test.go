package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
)

// Where a pod finds its service account is the same for all programs
// (client-go rest/config.go, InClusterConfig), so that a process can only be made
// to think that it is in one by a folder of its own at this place.
const (
	accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"
	account       = "ROLLOUT_SIM_ACCOUNT" // the folder whose files are put there
	noNamespaces  = 77                    // exit code: the kernel does not let us
)

// refusals are how a kernel that has or allows no such namespaces says so.
var refusals = []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC, syscall.ENOSYS}

func init() { programs["in-a-pod"] = inAPod }

// inAPod becomes the program in a mount namespace where /var/run has nothing
// but a service account.
func inAPod() {
	err := mountAccount()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(noNamespaces)
	}
	var path string
	if err == nil {
		path, err = exec.LookPath("kubectl-rollout_sim")
	}
	if err == nil {
		err = syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func mountAccount() error {
	run, err := filepath.EvalSymlinks("/var/run")
	if err != nil {
		return err
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts from others: %w", err)
	}
	if err := syscall.Mount("none", run, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", run, err)
	}
	return os.CopyFS(accountFolder, os.DirFS(os.Getenv(account)))
}

// pod is a place to run the program in, and the API server that it can reach.
type pod struct {
	files  string // of the service account
	env    []string
	server *livetest.Server

	mu   sync.Mutex
	sent []string // what requests came with in Authorization, each once
}

// newPod has an API server whose service account is in namespace team.
func newPod(t *testing.T) *pod {
	t.Helper()
	p := &pod{files: t.TempDir(), server: &livetest.Server{Now: func() time.Time { return noon }}}
	web := livetest.Rollout{Namespace: "team", Name: "web", Pods: 4, Created: noon.Add(-time.Hour), CPU: "500m"}
	other := livetest.Rollout{Namespace: "elsewhere", Name: "other", Pods: 2, Created: noon.Add(-time.Hour)}
	p.server.Objects = slices.Concat(web.Objects(), other.Objects(), livetest.Nodes(3, "8"))
	p.server.Start()
	t.Cleanup(p.server.Close)
	to, err := url.Parse(p.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.came(r.Header.Get("Authorization"))
		pass.ServeHTTP(w, r)
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // clients may hang up
	secure.StartTLS()
	t.Cleanup(secure.Close)
	at, err := url.Parse(secure.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "token", "token-of-a-pod")
	p.write(t, "namespace", "team")
	p.write(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	home := t.TempDir()
	p.env = append(os.Environ(), "NO_COLOR=1", "HOME="+home, "KUBECONFIG="+filepath.Join(home, "none"), account+"="+p.files,
		"KUBERNETES_SERVICE_HOST="+at.Hostname(), "KUBERNETES_SERVICE_PORT="+at.Port(), "POD_NAMESPACE=")
	return p
}

// strangersCertificate is an authority that has signed nothing of ours.
func strangersCertificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

func (p *pod) came(with string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.sent, with) {
		p.sent = append(p.sent, with)
	}
}

func (p *pod) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.files, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs the program in the pod and returns all that it prints. Where the
// kernel lets nobody have a mount namespace of his own the test is skipped.
func (p *pod) run(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "in-a-pod", args...)
	cmd.Env = append(slices.Clone(p.env), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exited *exec.ExitError
	refused := slices.ContainsFunc(refusals, func(no syscall.Errno) bool { return errors.Is(err, no) })
	switch {
	case refused, cmd.ProcessState.ExitCode() == noNamespaces:
		t.Skipf("no namespaces for this process: %v: %s", err, out.String())
	case err != nil && !errors.As(err, &exited):
		t.Fatal(err)
	}
	return out.String()
}

// TestInAPod runs the program as in a pod, whose service account and environment
// say where the cluster is.
func TestInAPod(t *testing.T) {
	const bearer = "Bearer token-of-a-pod"
	for _, test := range []struct {
		name  string
		alter func(t *testing.T, p *pod) []string // the pod; the answer is more environment
		line  string
		says  []string
		sent  []string
	}{
		{"the service account's namespace", nil, "plan deploy/web --image app=app:2",
			[]string{"deployment/web  ns team", `live cluster "in-cluster", 3 nodes`, "result     Complete"}, []string{bearer}},
		{"another namespace", nil, "plan deploy/other --image app=app:2 -n elsewhere",
			[]string{"deployment/other  ns elsewhere", `live cluster "in-cluster"`}, []string{bearer}},
		{"POD_NAMESPACE", func(*testing.T, *pod) []string { return []string{"POD_NAMESPACE=elsewhere"} }, "plan deploy/other --image app=app:2",
			[]string{"deployment/other  ns elsewhere"}, []string{bearer}},
		{"a kubeconfig comes first", func(t *testing.T, p *pod) []string {
			path, err := p.server.Kubeconfig(t.TempDir(), "team")
			if err != nil {
				t.Fatal(err)
			}
			return []string{"KUBECONFIG=" + path}
		}, "plan deploy/web --image app=app:2", []string{`live cluster "test"`}, nil},
		{"not asked", nil, "plan --offline -f ../../examples/web.yaml", []string{"3 nodes (assumed)"}, nil},
		{"a server of somebody else", func(t *testing.T, p *pod) []string {
			p.write(t, "ca.crt", strangersCertificate(t))
			return nil
		}, "plan deploy/web", []string{"Unable to connect to the server: ", "certificate signed by unknown authority"}, nil},
		{"no token", func(t *testing.T, p *pod) []string {
			if err := os.Remove(filepath.Join(p.files, "token")); err != nil {
				t.Fatal(err)
			}
			return nil
		}, "plan deploy/web", []string{"error: no manifest: pass -f FILE"}, nil},
		{"no environment", func(*testing.T, *pod) []string { return []string{"KUBERNETES_SERVICE_HOST="} }, "plan deploy/web",
			[]string{"error: no manifest: pass -f FILE"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPod(t)
			var env []string
			if test.alter != nil {
				env = test.alter(t, p)
			}
			out := p.run(t, env, strings.Fields(test.line)...)
			for _, want := range test.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
			if p.mu.Lock(); !slices.Equal(p.sent, test.sent) {
				t.Errorf("requests came with %q, want %q", p.sent, test.sent)
			}
			p.mu.Unlock()
		})
	}
}
