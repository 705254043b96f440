package kubectl

import (
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// getter is the user's kubeconfig and flags for kubectl's code.
type getter struct {
	genericclioptions.RESTClientGetter
	warn func(string)
	// talk, when set, stands between kubectl's code and the server.
	talk func(http.RoundTripper) http.RoundTripper
}

// ToRESTConfig is the user's own with the above in place.
func (g getter) ToRESTConfig() (*rest.Config, error) {
	config, err := g.RESTClientGetter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = warnings(g.warn)
	if g.talk != nil {
		config.Wrap(g.talk)
	}
	return config, nil
}

// ToRESTMapper knows the workloads and discovers other kinds: what a server
// serves beside them is asked, and kept on the disk, only where it is needed.
func (g getter) ToRESTMapper() (meta.RESTMapper, error) {
	all, err := g.RESTClientGetter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{workloads(), all}}, nil
}

func workloads() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Deployment", "ReplicaSet"} {
		m.Add(appsv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return m
}

// scales says that a workload's scale is that of autoscaling/v1.
type scales struct{}

// ScaleForResource is the kind of the subresource.
func (scales) ScaleForResource(schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale"), nil
}

// warnings passes on what the server warns of; 299 is its code for that.
type warnings func(string)

// HandleWarningHeader is called for each Warning header of an answer.
func (w warnings) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" {
		w(text)
	}
}
