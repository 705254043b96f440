// Package live talks to an API server: it reads what a plan begins with,
// measures what can be measured, follows what controllers do, and hosts our own.
// What reads and follows changes nothing. The host writes.
package live

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	schedulingclient "k8s.io/client-go/kubernetes/typed/scheduling/v1"
	storageclient "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Object is an API object of a type that the world knows.
type Object interface {
	metav1.Object
	runtime.Object
}

// Cluster is one API server.
type Cluster struct {
	// Context is the kubeconfig context's name; empty when there is none.
	Context string

	apps        appsclient.AppsV1Interface
	core        coreclient.CoreV1Interface
	autoscaling autoscalingclient.AutoscalingV2Interface
	policy      policyclient.PolicyV1Interface
	scheduling  schedulingclient.SchedulingV1Interface
	storage     storageclient.StorageV1Interface
	clock       *serverClock
	said        *warnings
}

// Configured reports whether the user has a cluster: a current context, a flag
// that names one, or, as for kubectl, without any kubeconfig the one in whose
// pod this process runs. Without, a plan is made offline.
func Configured(f genericclioptions.RESTClientGetter) (bool, error) {
	if flags, ok := f.(*genericclioptions.ConfigFlags); ok {
		for _, given := range []*string{flags.Context, flags.KubeConfig, flags.APIServer, flags.ClusterName} {
			if given != nil && *given != "" {
				return true, nil
			}
		}
	}
	raw, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return false, err
	}
	return raw.CurrentContext != "" || inside(&raw), nil
}

// inside reports whether a pod's own service account is used, since there is
// nothing else (client-go tools/clientcmd, DeferredLoadingClientConfig).
func inside(config *clientcmdapi.Config) bool {
	if !clientcmdapi.IsConfigEmpty(config) {
		return false
	}
	_, err := rest.InClusterConfig()
	return err == nil
}

// Connect makes the clients of the cluster that flags and kubeconfig name. No
// request is sent. Errors are those of the kubeconfig.
func Connect(f genericclioptions.RESTClientGetter) (*Cluster, error) {
	config, err := f.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Context: contextName(f), clock: &serverClock{now: time.Now}, said: &warnings{}}
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent() // a shared client does not add it
	}
	config.QPS = -1 // a few requests at once, once: the server's own fairness is enough
	config.WarningHandler = c.said
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &timed{next, c.clock} })
	return c, c.connect(config)
}

func (c *Cluster) connect(config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	makers := []func() error{
		func() error { c.apps, err = appsclient.NewForConfigAndClient(config, client); return err },
		func() error { c.core, err = coreclient.NewForConfigAndClient(config, client); return err },
		func() error { c.autoscaling, err = autoscalingclient.NewForConfigAndClient(config, client); return err },
		func() error { c.policy, err = policyclient.NewForConfigAndClient(config, client); return err },
		func() error { c.scheduling, err = schedulingclient.NewForConfigAndClient(config, client); return err },
		func() error { c.storage, err = storageclient.NewForConfigAndClient(config, client); return err },
	}
	for _, make := range makers {
		if err := make(); err != nil {
			return fmt.Errorf("connecting to %s: %w", config.Host, err)
		}
	}
	return nil
}

// contextName is the context that is used: the one of --context, or the current one.
func contextName(f genericclioptions.RESTClientGetter) string {
	if flags, ok := f.(*genericclioptions.ConfigFlags); ok && flags.Context != nil && *flags.Context != "" {
		return *flags.Context
	}
	raw, err := f.ToRawKubeConfigLoader().RawConfig()
	switch {
	case err != nil:
		return ""
	case raw.CurrentContext == "" && inside(&raw):
		return "in-cluster"
	}
	return raw.CurrentContext
}

// warnings collects what the server warns of, each text once.
type warnings struct {
	mu    sync.Mutex
	texts []string
	seen  map[string]bool
}

// HandleWarningHeader is called for each Warning header; 299 is the server's code.
func (w *warnings) HandleWarningHeader(code int, _ string, text string) {
	if code == 299 && text != "" {
		w.add(text)
	}
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[text] {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	w.texts = append(w.texts, text)
}

// Warnings are what the server has warned of so far.
func (c *Cluster) Warnings() []string {
	c.said.mu.Lock()
	defer c.said.mu.Unlock()
	return append([]string(nil), c.said.texts...)
}
