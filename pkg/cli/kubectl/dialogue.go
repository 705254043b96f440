package kubectl

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// dialogue stands between kubectl's code and the server while a change is
// computed. What a plan has read is not asked again, which saves requests and
// makes plan and change begin with the same; what the server answers is kept,
// since not all of kubectl's verbs hand it on.
type dialogue struct {
	known *live.Snapshot

	mu     sync.Mutex
	sent   bool        // a write went well
	object live.Object // the first answer to one
	denied string      // what the user may not do
}

// place is what a path names of the group apps/v1.
type place struct{ namespace, resource, name, subresource string }

// kinds are those of the resources that are known.
var kinds = map[string]string{"deployments": "Deployment", "replicasets": "ReplicaSet"}

// placeOf reads PREFIX/apis/apps/v1/namespaces/NS/RESOURCE[/NAME[/SUBRESOURCE]].
func placeOf(path string) (place, bool) {
	_, after, ok := strings.Cut(path, "/apis/apps/v1/namespaces/")
	parts := append(strings.Split(after, "/"), "", "")
	if !ok || len(parts) < 4 || len(parts) > 6 || kinds[parts[1]] == "" {
		return place{}, false
	}
	return place{parts[0], parts[1], parts[2], parts[3]}, true
}

// between is a transport by way of the dialogue.
func (d *dialogue) between(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		at, ok := placeOf(req.URL.Path)
		switch {
		case !ok:
			return next.RoundTrip(req)
		case req.Method == http.MethodGet:
			if answer := d.remembered(at, req); answer != nil {
				return reply(req, answer)
			}
			return next.RoundTrip(req)
		}
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		return resp, d.hear(at, req, resp)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// remembered is the answer to a read; nil when it was not read before.
func (d *dialogue) remembered(at place, req *http.Request) runtime.Object {
	switch {
	case at.subresource != "":
		return nil
	case at.name == "":
		return d.sets(at, req)
	}
	if obj := d.known.Find(trace.Ref{Kind: kinds[at.resource], Namespace: at.namespace, Name: at.name}); obj != nil {
		return named(obj, at)
	}
	if at.resource == "replicasets" && !d.known.SetsKnown() {
		return nil
	}
	missing := apierrors.NewNotFound(appsv1.Resource(at.resource), at.name).Status()
	missing.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return &missing
}

// sets lists the ReplicaSets that a selector finds. Those of others, which a
// plan does not read, are none that a change of a Deployment looks at.
func (d *dialogue) sets(at place, req *http.Request) runtime.Object {
	selector, err := labels.Parse(req.URL.Query().Get("labelSelector"))
	if err != nil || at.resource != "replicasets" || !d.known.SetsKnown() {
		return nil
	}
	list := &appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSetList"}}
	for _, rs := range d.known.ReplicaSets {
		if rs.Namespace == at.namespace && selector.Matches(labels.Set(rs.Labels)) {
			list.Items = append(list.Items, *rs)
		}
	}
	return list
}

func reply(req *http.Request, obj runtime.Object) (*http.Response, error) {
	code := http.StatusOK
	if failure, ok := obj.(*metav1.Status); ok {
		code = int(failure.Code)
	}
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// hear keeps the answer to a write.
func (d *dialogue) hear(at place, req *http.Request, resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = d.sent || resp.StatusCode < http.StatusBadRequest
	answer, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil // kubectl's code says so
	}
	switch answer := answer.(type) {
	case *metav1.Status:
		if verb := verbs[req.Method]; resp.StatusCode == http.StatusForbidden && live.NotAllowed(&apierrors.StatusError{ErrStatus: *answer}, verb) {
			d.denied = verb + " " + strings.TrimSuffix(at.resource+"/"+at.subresource, "/")
		}
	case live.Object:
		if d.object == nil && at.subresource == "" {
			d.object = named(answer, at)
		}
	}
	return nil
}

// named sets the kind, which typed clients leave out.
func named(obj live.Object, at place) live.Object {
	obj.GetObjectKind().SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kinds[at.resource]))
	return obj
}

// verbs are what authorizers call the methods.
var verbs = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodPut: "update", http.MethodDelete: "delete"}
