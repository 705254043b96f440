package worlds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// transport answers upstream's requests with what the server answered ours, as
// long as they are the same: same call, same object at the same version, in the
// same order, except that calls made side by side have no order among themselves.
type transport struct {
	mu     sync.Mutex
	rec    *recording
	differ []string
}

func (t *transport) client() kubernetes.Interface {
	cfg := &rest.Config{Host: "http://oracle", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: protobuf}}
	c, err := kubernetes.NewForConfigAndClient(cfg, &http.Client{Transport: t})
	if err != nil {
		panic(err)
	}
	return c
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what, body, err := translate(r)
	if err != nil {
		return nil, err
	}
	q := t.match(what, body)
	if q == nil {
		t.differ = append(t.differ, fmt.Sprintf("upstream requests %s\n%s\nwhere ours requests\n%s", what, readable(what, body), t.expected()))
		return reply(r, http.StatusTeapot, plain, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"ours did not ask this","code":418}`)), nil
	}
	q.used = true
	return reply(r, q.code, q.kind, q.reply), nil
}

// match finds the request among those whose turn it is.
func (t *transport) match(what, body string) *request {
	group := 0
	for _, q := range t.rec.requests {
		if q.used {
			continue
		}
		if group == 0 {
			group = q.group
		}
		if q.group == group && q.what == what && q.body == body {
			return q
		}
	}
	return nil
}

func (t *transport) expected() string {
	for _, q := range t.rec.requests {
		if !q.used {
			return q.what + "\n" + readable(q.what, q.body)
		}
	}
	return "nothing more"
}

// translate writes a request the way our side's are recorded.
func translate(r *http.Request) (what, body string, err error) {
	var sent []byte
	if r.Body != nil {
		if sent, err = io.ReadAll(r.Body); err != nil {
			return "", "", err
		}
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for len(path) > 0 && path[0] != "namespaces" {
		path = path[1:]
	}
	path = append(path, "", "", "")
	ns, resource, name, sub := path[1], path[2], path[3], path[4]
	if sub != "" {
		sub = "/" + sub
	}
	body, err = content(r, resource, ns, sent)
	return r.Method + " " + resource + sub + " " + ns + "/" + name, body, err
}

// content is what a request carries, without its envelope.
func content(r *http.Request, resource, ns string, sent []byte) (string, error) {
	if r.Method == http.MethodGet {
		return "", nil
	}
	if r.Method == http.MethodPatch {
		return r.Header.Get("Content-Type") + canonical(sent), nil
	}
	data, err := open(sent)
	if err != nil {
		return "", err
	}
	switch r.Method {
	case http.MethodDelete:
		var opts metav1.DeleteOptions
		err = opts.Unmarshal(data)
		out, _ := json.Marshal(opts)
		return string(out), err
	case http.MethodPost:
		obj, err := decode(resource, data)
		// The namespace of the path is the object's: upstream leaves it out of new pods.
		obj.(metav1.Object).SetNamespace(ns)
		return string(encode(obj)), err
	}
	return string(data), nil
}

func reply(r *http.Request, code int, kind string, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{kind}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
