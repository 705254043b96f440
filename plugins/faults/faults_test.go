package faults_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/faults"
)

var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// TestAnswers: each kind of fault reaches the client with the code and the
// words of a real API server.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		answer faults.Answer
		code   int32
		text   string
	}{
		{faults.Answer{Kind: faults.Conflict}, 409, `Operation cannot be fulfilled on pods "web-1": the object has been modified; please apply your changes to the latest version and try again`},
		{faults.Answer{Kind: faults.Forbidden, Message: "no"}, 403, `pods "web-1" is forbidden: no`},
		{faults.Answer{Kind: faults.NotFound}, 404, `pods "web-1" not found`},
		{faults.Answer{Kind: faults.AlreadyExists}, 409, `pods "web-1" already exists`},
		{faults.Answer{Kind: faults.Internal, Message: "etcd is away"}, 500, `Internal error occurred: etcd is away`},
		{faults.Answer{Kind: faults.Timeout, Message: "slow"}, 504, `Timeout: slow`},
		{faults.Answer{Kind: faults.Terminating}, 403, `pods "web-1" is forbidden: unable to create new content in namespace default because it is being terminated`},
		{faults.Answer{Kind: faults.WebhookDenies, Webhook: "policy.example.com", Message: "bad image"}, 403, `admission webhook "policy.example.com" denied the request: bad image`},
		{faults.Answer{Kind: faults.WebhookDenies, Webhook: "policy.example.com", Code: 400}, 400, `admission webhook "policy.example.com" denied the request without explanation`},
		{faults.Answer{Kind: faults.WebhookFails, Webhook: "w", Message: "connection refused"}, 500, `Internal error occurred: failed calling webhook "w": connection refused`},
		{faults.Answer{Kind: faults.WebhookTimesOut, Webhook: "w"}, 500, `Internal error occurred: failed calling webhook "w": failed to call webhook: Post "https://webhook.default.svc:443/?timeout=10s": context deadline exceeded`},
	} {
		p, err := faults.New(begin, faults.Rule{Answer: c.answer})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Validate(request("create", "web-1", 0))
		status, ok := got.(apierrors.APIStatus)
		if !ok {
			t.Errorf("%s: %v is no API error", c.answer.Kind, got)
			continue
		}
		if status.Status().Code != c.code || got.Error() != c.text {
			t.Errorf("%s: got %d %s", c.answer.Kind, status.Status().Code, got)
		}
		if c.answer.Kind == faults.Terminating && !apierrors.HasStatusCause(got, corev1.NamespaceTerminatingCause) {
			t.Errorf("no cause that controllers know")
		}
	}
}

func request(verb, name string, at time.Duration) *sim.Request {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	return &sim.Request{Verb: verb, Resource: sim.Pods, Actor: "replicaset", New: pod, Now: begin.Add(at)}
}

// TestRules: which of these requests fail.
func TestRules(t *testing.T) {
	answer := faults.Answer{Kind: faults.Internal}
	for _, c := range []struct {
		name string
		rule faults.Rule
		want string // a letter a request: f fails, . passes
	}{
		{"all", faults.Rule{}, "fffff"},
		{"verb", faults.Rule{Verb: "delete"}, "...f."},
		{"name", faults.Rule{Name: "web-*"}, "ff.f."},
		{"window", faults.Rule{From: time.Second, To: 3 * time.Second}, ".ff.."},
		{"the second", faults.Rule{Skip: 1, Times: 1}, ".f..."},
		{"the first two", faults.Rule{Times: 2}, "ff..."},
		{"actor", faults.Rule{Actor: "you"}, "....."},
		{"resource", faults.Rule{Resource: "nodes"}, "....."},
		{"subresource", faults.Rule{Subresource: "status"}, "....f"},
		{"object itself", faults.Rule{Subresource: "-"}, "ffff."},
	} {
		c.rule.Answer = answer
		p, err := faults.New(begin, c.rule)
		if err != nil {
			t.Fatal(err)
		}
		last := request("update", "db-2", 4*time.Second)
		last.Subresource = "status"
		got := ""
		for _, req := range []*sim.Request{
			request("create", "web-1", 0), request("create", "web-2", time.Second), request("create", "db-1", 2*time.Second),
			request("delete", "web-1", 3*time.Second), last,
		} {
			if p.Validate(req) != nil {
				got += "f"
			} else {
				got += "."
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestInWorld: the error reaches whoever asked, and the world goes on.
func TestInWorld(t *testing.T) {
	p, err := faults.New(begin, faults.Rule{Verb: "create", Times: 1, Answer: faults.Answer{Kind: faults.WebhookDenies, Webhook: "w", Message: "no"}})
	if err != nil {
		t.Fatal(err)
	}
	w := sim.New(sim.Config{Start: begin, Plugins: []sim.Plugin{p}})
	hand := w.Hand("you")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	if _, err := hand.Apply(context.Background(), node); !apierrors.IsForbidden(err) {
		t.Errorf("first: %v", err)
	}
	if _, err := hand.Apply(context.Background(), node); err != nil {
		t.Errorf("second: %v", err)
	}
}

func TestNewRefusesUnknownKinds(t *testing.T) {
	if _, err := faults.New(begin, faults.Rule{Answer: faults.Answer{Kind: "Gremlin"}}); err == nil {
		t.Error("no error")
	}
	if _, err := faults.New(begin, faults.Rule{Name: "[", Answer: faults.Answer{Kind: faults.NotFound}}); err == nil {
		t.Error("no error for a bad pattern")
	}
}

// TestWebhooks: a webhook with failurePolicy Ignore holds nothing up but time,
// and one that mutates changes what is stored.
func TestWebhooks(t *testing.T) {
	waited := time.Duration(0)
	req := request("create", "web-1", 0)
	req.Wait = func(d time.Duration) { waited += d }
	p, err := faults.New(begin,
		faults.Rule{Answer: faults.Answer{Kind: faults.WebhookTimesOut, Ignore: true, Timeout: 3 * time.Second}},
		faults.Rule{Answer: faults.Answer{Kind: faults.WebhookFails, Ignore: true}},
		faults.Rule{Verb: "create", Answer: faults.Answer{Kind: faults.WebhookMutates, Patch: []byte(`{"metadata":{"labels":{"team":"a"}},"spec":{"priorityClassName":"low"}}`)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Mutate(req); err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(req); err != nil || waited != 3*time.Second {
		t.Errorf("waited %s, error %v", waited, err)
	}
	pod := req.New.(*corev1.Pod)
	if pod.Labels["team"] != "a" || pod.Spec.PriorityClassName != "low" || pod.Name != "web-1" {
		t.Errorf("stored %+v", pod)
	}
	for _, wrong := range []faults.Answer{
		{Kind: faults.WebhookMutates, Patch: []byte(`[`)}, {Kind: faults.WebhookDenies, Ignore: true},
	} {
		if _, err := faults.New(begin, faults.Rule{Answer: wrong}); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}
