package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestQuiet: what tells about the program itself opens no connection, neither to
// the cluster of the kubeconfig nor to the proxy of the environment. The plan of
// a Deployment in that cluster shows that one would be seen.
func TestQuiet(t *testing.T) {
	for _, test := range []struct {
		line     string
		connects bool
	}{
		{"--help", false},
		{"help plan", false},
		{"plan --help", false},
		{"apply --help", false},
		{"explain --help", false},
		{"controllers --help", false},
		{"version", false},
		{"completion bash", false},
		{"__complete plan --", false},
		{"__complete plan --detail ", false},
		{"__complete plan dep", false},
		{"__complete plan --offline deploy/", false},
		{"plan --offline -f $EXAMPLES/web.yaml", false},
		{"plan deploy/web", true},
	} {
		t.Run(test.line, func(t *testing.T) {
			address, connections := listen(t)
			params := scriptParams(t)
			params.Files = []string{script(t, test.line, !test.connects)}
			setup := params.Setup
			params.Setup = func(env *testscript.Env) error {
				if err := setup(env); err != nil {
					return err
				}
				for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
					env.Setenv(name, "http://"+address)
				}
				path := filepath.Join(env.WorkDir, "kubeconfig")
				env.Setenv("KUBECONFIG", path)
				return os.WriteFile(path, fmt.Appendf(nil, kubeconfig, address), 0o600)
			}
			// Scripts are run in parallel, that is, after what calls Run has returned.
			t.Run("script", func(t *testing.T) { testscript.Run(t, params) })
			if n := connections(); (n > 0) != test.connects {
				t.Errorf("%d connections", n)
			}
		})
	}
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "https://%s"}}]
users: [{name: me, user: {token: secret}}]
`

// script writes a script that runs the program with a line of arguments.
func script(t *testing.T, line string, succeeds bool) string {
	t.Helper()
	command := "exec kubectl-rollout_sim"
	if !succeeds {
		command = "! " + command
	}
	for _, word := range strings.Split(line, " ") {
		if word == "" {
			word = "''"
		}
		command += " " + word
	}
	path := filepath.Join(t.TempDir(), "line.txtar")
	if err := os.WriteFile(path, []byte(command+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// listen is an address that ends every connection at once, and how many there have been.
func listen(t *testing.T) (address string, connections func() int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			conn.Close()
		}
	}()
	return listener.Addr().String(), func() int64 {
		// Connections are taken in their order: when this last one ends, all are counted.
		last, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, last) // until it is ended
		last.Close()
		listener.Close()
		<-ended
		return n.Load() - 1
	}
}
