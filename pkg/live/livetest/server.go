// Package livetest is an API server for tests: it serves objects that a test
// gives it, in pages, as JSON or protobuf, to a user who may do what the test
// says. Dry runs are answered; nothing is changed unless the server is Live.
package livetest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Server is a fake API server. Its fields may be changed before the first request.
type Server struct {
	Objects []runtime.Object
	// Version is what /version says.
	Version string
	// Allowed reports whether the user may use a verb (get, list, patch, create)
	// on a resource ("deployments", "deployments/scale"); nil allows all.
	Allowed func(verb, resource, namespace string) bool
	// Refuse, when set, answers writes with an error of its own instead.
	Refuse func(verb string) *metav1.Status
	// Expired answers every request as to a user whose credentials are no longer good.
	Expired bool
	// Now is the server's clock.
	Now func() time.Time
	// Live serves watches and carries writes out.
	Live bool
	// Delay is how long each answer takes.
	Delay time.Duration

	http *httptest.Server
	url  string

	trouble trouble

	data    sync.Mutex // of Objects and all of the store below
	changes []change
	oldest  int           // watches from before this version have expired
	news    chan struct{} // closed at the next change
	made    int
	broken  chan struct{} // closed to cut all watches
	closing bool          // no watch may begin
	gate    chan struct{} // closed to let watches and lists begin; nil: they may

	mu       sync.Mutex
	requests []string
	now, max int // requests at once
}

// Start serves until the test ends.
func (s *Server) Start() *Server {
	if s.Version == "" {
		s.Version = "v1.37.2"
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	s.news, s.broken = make(chan struct{}), make(chan struct{})
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.url = s.http.URL
	return s
}

// Restart ends the server, connections and all, and starts it at the same
// address after a time. What it holds is still there.
func (s *Server) Restart(down time.Duration) error {
	s.Close()
	time.Sleep(down)
	listener, err := net.Listen("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return err
	}
	s.data.Lock()
	s.closing = false
	s.data.Unlock()
	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(s.serve)}}
	s.http.Start()
	return nil
}

// Close ends the server.
func (s *Server) Close() {
	s.data.Lock()
	s.closing = true
	s.data.Unlock()
	s.CutWatches()
	s.http.CloseClientConnections()
	s.http.Close()
}

// CutWatches ends all watches there are, as a restart of the server does.
func (s *Server) CutWatches() {
	s.data.Lock()
	defer s.data.Unlock()
	close(s.broken)
	s.broken = make(chan struct{})
}

// cut is closed when a watch that begins now has to end.
func (s *Server) cut() <-chan struct{} {
	s.data.Lock()
	defer s.data.Unlock()
	if s.closing {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return s.broken
}

// URL is the server's address.
func (s *Server) URL() string { return s.url }

// Kubeconfig writes a kubeconfig whose current context, called test, is the
// server with a namespace, and returns its path.
func (s *Server) Kubeconfig(dir, namespace string) (string, error) {
	path := filepath.Join(dir, "kubeconfig")
	return path, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test, namespace: %s}}]
clusters: [{name: test, cluster: {server: "%s"}}]
users: [{name: test, user: {token: test}}]
`, namespace, s.URL()), 0o600)
}

// Requests are the requests so far, as in "GET /api/v1/nodes?limit=500", sorted.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.requests)
	slices.Sort(out)
	return out
}

// AtOnce is the most requests that were open at once.
func (s *Server) AtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.max
}

func (s *Server) begin(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query, _ := url.QueryUnescape(r.URL.RawQuery)
	line := r.Method + " " + r.URL.Path
	if query != "" {
		line += "?" + query
	}
	s.requests = append(s.requests, line)
	s.now++
	s.max = max(s.max, s.now)
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

// target is what a path names.
type target struct{ resource, namespace, name, subresource string }

// parse reads /api/v1/… and /apis/GROUP/VERSION/….
func parse(path string) target {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	parts = parts[min(skip, len(parts)):]
	var t target
	if len(parts) >= 2 && parts[0] == "namespaces" {
		t.namespace = parts[1]
		if len(parts) > 2 { // a namespace itself is one of what is in it, as authorization sees it
			parts = parts[2:]
		}
	}
	for i, into := range []*string{&t.resource, &t.name, &t.subresource} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return t
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.begin(r)
	defer s.end()
	time.Sleep(s.Delay)
	w.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
	if s.Expired || !s.trouble.known(r.Header.Get("Authorization")) {
		reply(w, r, status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"))
		return
	}
	if s.trouble.throttled() {
		w.Header().Set("Retry-After", "1")
		reply(w, r, status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later"))
		return
	}
	if r.URL.Path == "/version" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"major":"1","minor":"37","gitVersion":%q}`, s.Version)
		return
	}
	if s.discover(w, r) {
		return
	}
	t := parse(r.URL.Path)
	verb := verbOf(r, t)
	if s.Allowed != nil && !s.Allowed(verb, strings.TrimSuffix(t.resource+"/"+t.subresource, "/"), t.namespace) {
		reply(w, r, forbidden(verb, t))
		return
	}
	if verb == "watch" || verb == "list" {
		s.admit(r.Context())
	}
	switch verb {
	case "watch":
		s.watch(w, r, t)
	case "get", "list":
		reply(w, r, s.read(r, verb, t))
	default:
		reply(w, r, s.write(r, verb, t))
	}
}

func verbOf(r *http.Request, t target) string {
	switch {
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodDelete:
		return "delete"
	case r.URL.Query().Get("watch") == "true":
		return "watch"
	case t.name == "":
		return "list"
	}
	return "get"
}
