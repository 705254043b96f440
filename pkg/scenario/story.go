package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/faults"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// ParseRange reads a duration, or two as in 2s..6s.
func ParseRange(s string) (kubelet.Range, error) {
	low, high, isRange := strings.Cut(s, "..")
	if !isRange {
		high = low
	}
	from, errLow := time.ParseDuration(strings.TrimSpace(low))
	to, errHigh := time.ParseDuration(strings.TrimSpace(high))
	switch {
	case errLow != nil || errHigh != nil:
		return kubelet.Range{}, fmt.Errorf("%q: expected a duration such as 2s, or a range such as 2s..6s", s)
	case from < 0:
		return kubelet.Range{}, fmt.Errorf("%q: time does not run backwards", s)
	case to < from:
		return kubelet.Range{}, fmt.Errorf("%q: the range's end is before its beginning", s)
	}
	return kubelet.Range{Low: from, High: to}, nil
}

// ParseNever reads why pods do not become ready.
func ParseNever(s string) (kubelet.Never, error) {
	ways := []kubelet.Never{kubelet.Unready, kubelet.ImagePull, kubelet.CrashLoop, kubelet.WhileOthers}
	names := make([]string, len(ways))
	for i, way := range ways {
		if strings.EqualFold(s, string(way)) {
			return way, nil
		}
		names[i] = string(way)
	}
	return "", fmt.Errorf("%q is not a way to never become ready: use %s", s, strings.Join(names, ", "))
}

// mishaps turns a story's faults into the plugin's rules.
func mishaps(story []v1alpha1.Fault) ([]faults.Rule, error) {
	rules := make([]faults.Rule, len(story))
	for i, f := range story {
		rules[i] = faults.Rule{
			Verb: f.Verb, Resource: f.Resource, Subresource: f.Subresource, Namespace: f.Namespace, Name: f.Name, Actor: f.Actor,
			From: f.From.Duration, To: f.To.Duration, Skip: f.Skip, Times: f.Times,
			Answer: faults.Answer{Kind: faults.Kind(f.Answer), Message: f.Message, Webhook: f.Webhook, Timeout: f.WebhookTimeout.Duration},
		}
		switch f.FailurePolicy {
		case "", "Fail":
		case "Ignore":
			rules[i].Answer.Ignore = true
		default:
			return nil, fmt.Errorf("faults[%d].failurePolicy: %q is neither Fail nor Ignore", i, f.FailurePolicy)
		}
		if f.Patch != nil {
			rules[i].Answer.Patch = f.Patch.Raw
		}
	}
	return rules, nil
}
