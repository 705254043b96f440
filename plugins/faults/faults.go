// Package faults makes the API server answer chosen requests with errors.
package faults

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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
	// Webhook names the webhook of WebhookDenies and WebhookFails.
	Webhook string
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
		if rules[i].Answer.error("pods", "x", "y") == nil {
			return nil, fmt.Errorf("fault %d: %q is no kind of API error", i+1, rules[i].Answer.Kind)
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

// Mutate changes nothing.
func (p *Plugin) Mutate(*sim.Request) error { return nil }

// Validate answers with the fault of the first rule that applies.
func (p *Plugin) Validate(req *sim.Request) error {
	obj := req.New
	if obj == nil {
		obj = req.Old
	}
	for i := range p.rules {
		r := &p.rules[i]
		if !r.matches(req, obj, req.Now.Sub(p.start)) {
			continue
		}
		p.seen[i]++
		if n := p.seen[i] - r.Skip; n <= 0 || r.Times > 0 && n > r.Times {
			continue
		}
		return p.refuse(r.Answer, req, obj)
	}
	return nil
}

// refuse makes the error, and traces it when it stands for a refusal rather than for a mishap.
func (p *Plugin) refuse(a Answer, req *sim.Request, obj sim.Object) error {
	err := a.error(req.Resource, obj.GetName(), obj.GetNamespace())
	by := map[Kind]string{Forbidden: "authorization", Terminating: "NamespaceLifecycle", WebhookDenies: a.Webhook, WebhookFails: a.Webhook}[a.Kind]
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

func (a Answer) error(resource, name, namespace string) error {
	gr := groupResource(resource)
	switch a.Kind {
	case Conflict:
		return apierrors.NewConflict(gr, name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	case Forbidden:
		return apierrors.NewForbidden(gr, name, errors.New(a.Message))
	case NotFound:
		return apierrors.NewNotFound(gr, name)
	case AlreadyExists:
		return apierrors.NewAlreadyExists(gr, name)
	case Internal:
		return apierrors.NewInternalError(errors.New(a.Message))
	case Timeout:
		return apierrors.NewTimeoutError(a.Message, 0)
	case Terminating:
		return terminating(gr, name, namespace)
	case WebhookDenies:
		return a.denial()
	case WebhookFails:
		return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: %s", a.Webhook, a.Message))
	}
	return nil
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

func groupResource(resource string) schema.GroupResource {
	if resource == sim.Deployments || resource == sim.ReplicaSets {
		return appsv1.Resource(resource)
	}
	return corev1.Resource(resource)
}
