// Package faults makes the API server answer chosen requests with errors.
package faults

import (
	"fmt"
	"net/http"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Rule says which requests fail, and how. Empty fields match everything.
type Rule struct {
	Verb        string // create, update, delete
	Resource    string // pods, replicasets, deployments …
	Subresource string // status, binding …; "-" matches the object itself only
	Namespace   string
	Name        string // pattern as in path.Match
	Actor       string // who asks: replicaset, you …
	// From and To bound the rule in time since the run began; To 0 is for ever.
	From, To time.Duration
	// Skip lets so many matching requests through first; Times is how many
	// fail after that, 0 being all.
	Skip, Times int
	Answer      Answer
}

// Answer is the error that a client gets.
type Answer struct {
	Kind Kind
	// Message is the part of the error that the kind leaves open.
	Message string
	// Webhook names the webhook of the kinds about webhooks.
	Webhook string
	// Ignore is a webhook's failurePolicy Ignore: it fails and times out without consequence.
	Ignore bool
	// Timeout is how long a webhook that does not answer is waited for; 0 means
	// 10 seconds. Creations wait; other requests fail at once.
	Timeout time.Duration
	// Patch is the strategic merge patch of WebhookMutates.
	Patch []byte
	// Code of WebhookDenies; 0 means 403, what controller-runtime's webhooks answer.
	Code int32
}

// Kind is a class of API errors.
type Kind string

// The kinds.
const (
	Conflict      Kind = "Conflict"             // 409: the object has been modified
	Forbidden     Kind = "Forbidden"            // 403 with the message
	NotFound      Kind = "NotFound"             // 404
	AlreadyExists Kind = "AlreadyExists"        // 409
	Internal      Kind = "InternalError"        // 500 with the message
	Timeout       Kind = "Timeout"              // 504: the server did not answer in time
	Terminating   Kind = "NamespaceTerminating" // 403 with its cause: controllers give up
	WebhookDenies Kind = "WebhookDenies"        // a webhook refuses, with the message
	WebhookFails  Kind = "WebhookFails"         // a webhook cannot be called, with the message

	WebhookTimesOut Kind = "WebhookTimesOut" // a webhook does not answer
	WebhookMutates  Kind = "WebhookMutates"  // a webhook patches the object
)

// Plugin is the faults of a world.
type Plugin struct {
	start time.Time
	rules []Rule
	seen  []int // matching requests so far, by rule
	h     *sim.Hands
}

// New makes the faults. Start is the date of virtual time zero. A request gets
// the answer of the first rule that makes it fail. Unknown kinds are an error.
func New(start time.Time, rules ...Rule) (*Plugin, error) {
	for i := range rules {
		if err := rules[i].Answer.check(); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
		if _, err := path.Match(rules[i].Name, ""); err != nil {
			return nil, fmt.Errorf("fault %d: name pattern %q: %w", i+1, rules[i].Name, err)
		}
	}
	return &Plugin{start: start, rules: rules, seen: make([]int, len(rules))}, nil
}

// Name is the actor in the trace.
func (p *Plugin) Name() string { return "faults" }

// Start keeps the hands for the trace.
func (p *Plugin) Start(h *sim.Hands) { p.h = h }

// Mutate lets webhooks that mutate do so.
func (p *Plugin) Mutate(req *sim.Request) error {
	if req.New == nil {
		return nil
	}
	return p.each(req, true, func(a Answer) error { return a.mutate(req) })
}

// Validate answers with the fault of the first rule that applies.
func (p *Plugin) Validate(req *sim.Request) error {
	return p.each(req, false, func(a Answer) error { return p.refuse(a, req, subject(req)) })
}

// each acts by the rules that apply, mutating ones or the others, up to the
// first error.
func (p *Plugin) each(req *sim.Request, mutating bool, act func(Answer) error) error {
	for i := range p.rules {
		r := &p.rules[i]
		if (r.Answer.Kind == WebhookMutates) != mutating || !r.matches(req, subject(req), req.Now.Sub(p.start)) {
			continue
		}
		p.seen[i]++
		if n := p.seen[i] - r.Skip; n <= 0 || r.Times > 0 && n > r.Times {
			continue
		}
		if err := act(r.Answer); err != nil {
			return err
		}
	}
	return nil
}

func subject(req *sim.Request) sim.Object {
	if req.New == nil {
		return req.Old
	}
	return req.New
}

// refuse makes the error, and traces it when it stands for a refusal rather than for a mishap.
func (p *Plugin) refuse(a Answer, req *sim.Request, obj sim.Object) error {
	if a.Kind == WebhookTimesOut && req.Wait != nil {
		req.Wait(a.timeout())
	}
	if a.Ignore {
		return nil
	}
	err := a.error(req.Resource, obj.GetName(), obj.GetNamespace())
	by := map[Kind]string{Forbidden: "authorization", Terminating: "NamespaceLifecycle", WebhookDenies: a.Webhook, WebhookFails: a.Webhook, WebhookTimesOut: a.Webhook}[a.Kind]
	if by != "" && p.h != nil {
		p.h.Emit(sim.RefOf(obj), trace.Rejected{By: by, Message: err.Error()})
	}
	return err
}

func (r *Rule) matches(req *sim.Request, obj sim.Object, at time.Duration) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	sub := r.Subresource == "" || r.Subresource == req.Subresource || r.Subresource == "-" && req.Subresource == ""
	named := r.Name == ""
	if !named {
		named, _ = path.Match(r.Name, obj.GetName()) // the pattern was checked by New
	}
	return sub && named && is(r.Verb, req.Verb) && is(r.Resource, req.Resource) && is(r.Actor, req.Actor) &&
		is(r.Namespace, obj.GetNamespace()) && at >= r.From && (r.To == 0 || at < r.To)
}

// denial is worded as the API server words it (admission/plugin/webhook/errors ToStatusErr).
func (a Answer) denial() error {
	code := a.Code
	if code == 0 {
		code = http.StatusForbidden
	}
	text := fmt.Sprintf("admission webhook %q denied the request: %s", a.Webhook, a.Message)
	if a.Message == "" {
		text = fmt.Sprintf("admission webhook %q denied the request without explanation", a.Webhook)
	}
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Message: text}
	if code == http.StatusForbidden {
		status.Reason = metav1.StatusReasonForbidden
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func terminating(gr schema.GroupResource, name, namespace string) error {
	err := apierrors.NewForbidden(gr, name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", namespace), Field: "metadata.namespace",
	})
	return err
}
