package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// admin is the user that may do everything.
const admin = "admin"

// access is who may talk to the API server, and how.
type access struct {
	dir    string
	host   string            // https://127.0.0.1:port
	tokens map[string]string // by user
}

func (a *access) tokenFile() string      { return filepath.Join(a.dir, "tokens.csv") }
func (a *access) serviceKeyFile() string { return filepath.Join(a.dir, "service-accounts.key") }
func (a *access) certificates() string   { return filepath.Join(a.dir, "certificates") }

// prepare writes the tokens and the key that signs service account tokens.
func (a *access) prepare(users []string) error {
	a.tokens = map[string]string{}
	var lines strings.Builder
	for i, user := range append([]string{admin}, users...) {
		a.tokens[user] = rand.Text()
		groups := ""
		if i == 0 {
			groups = `,"system:masters"`
		}
		fmt.Fprintf(&lines, "%s,%s,%s%s\n", a.tokens[user], user, user, groups)
	}
	if err := os.WriteFile(a.tokenFile(), []byte(lines.String()), 0o600); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return os.WriteFile(a.serviceKeyFile(), block, 0o600)
}

// config is how a user reaches the server. The server's certificate is its own authority.
func (a *access) config(user string) (*rest.Config, error) {
	token, ok := a.tokens[user]
	if !ok {
		return nil, fmt.Errorf("the cluster was started without a user %q", user)
	}
	ca, err := os.ReadFile(filepath.Join(a.certificates(), "apiserver.crt"))
	if err != nil {
		return nil, err
	}
	return &rest.Config{Host: a.host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, nil
}

// kubeconfig writes a user's kubeconfig and returns its path.
func (a *access) kubeconfig(user string) (string, error) {
	path := filepath.Join(a.dir, user+".kubeconfig")
	cfg, err := a.config(user)
	if err != nil || exists(path) {
		return path, err
	}
	const name = "rollout-sim-test"
	file := api.NewConfig()
	file.Clusters[name] = &api.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	file.AuthInfos[user] = &api.AuthInfo{Token: cfg.BearerToken}
	file.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user}
	file.CurrentContext = name
	return path, clientcmd.WriteToFile(*file, path)
}
