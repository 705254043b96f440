package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// check refuses an answer that no request could get.
func (a Answer) check() error {
	if a.Ignore && a.Kind != WebhookFails && a.Kind != WebhookTimesOut {
		return fmt.Errorf("a failure policy is for %s and %s, not for %s", WebhookFails, WebhookTimesOut, a.Kind)
	}
	if a.Kind != WebhookMutates {
		if a.error("pods", "x", "y") == nil {
			return fmt.Errorf("%q is no kind of API error", a.Kind)
		}
		return nil
	}
	var patch map[string]any
	if err := json.Unmarshal(a.Patch, &patch); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	return nil
}

// error is what the client gets; nil for kinds that are none.
func (a Answer) error(resource, name, namespace string) error {
	gr := sim.GroupResource(resource)
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
	case WebhookTimesOut:
		return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: %s", a.Webhook, a.timedOut()))
	}
	return nil
}

// defaultTimeout is a webhook's timeoutSeconds where it says none.
const defaultTimeout = 10 * time.Second

func (a Answer) timeout() time.Duration {
	if a.Timeout > 0 {
		return a.Timeout
	}
	return defaultTimeout
}

// timedOut words a call that got no answer; its URL is the webhook's own.
func (a Answer) timedOut() string {
	if a.Message != "" {
		return a.Message
	}
	return fmt.Sprintf(`failed to call webhook: Post "https://webhook.default.svc:443/?timeout=%s": context deadline exceeded`, a.timeout())
}

// mutate merges the patch into the object of a request.
func (a Answer) mutate(req *sim.Request) error {
	before, err := json.Marshal(req.New)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, a.Patch, req.New)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	out := sim.Fresh(req.New)
	if err := json.Unmarshal(after, out); err != nil {
		return apierrors.NewInternalError(err)
	}
	req.New = out
	return nil
}
