package scenario

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// behaviours turns a story's rules into profiles; a pod that no rule matches,
// and what a rule leaves open, is as otherwise says.
func behaviours(rules []v1alpha1.PodBehaviour, otherwise kubelet.Profiles) (kubelet.Profiles, error) {
	if len(rules) == 0 {
		return otherwise, nil
	}
	type ruled struct {
		match  kubelet.Match
		adjust func(*kubelet.Profile)
	}
	all := make([]ruled, len(rules))
	for i, r := range rules {
		adjust, err := adjustment(r)
		if err != nil {
			return nil, fmt.Errorf("pods[%d].%w", i, err)
		}
		all[i] = ruled{kubelet.Match{Namespace: r.Match.Namespace, Name: r.Match.Name, Owner: r.Match.Owner, Image: r.Match.Image, Labels: r.Match.Labels}, adjust}
	}
	return func(pod *corev1.Pod) kubelet.Profile {
		profile := otherwise(pod)
		for _, r := range all {
			if r.match.Fits(pod) {
				r.adjust(&profile)
				break
			}
		}
		return profile
	}, nil
}

// adjustment is what one rule says about a profile.
func adjustment(r v1alpha1.PodBehaviour) (func(*kubelet.Profile), error) {
	var ready, exit kubelet.Range
	var never kubelet.Never
	var err error
	if r.ReadyAfter != "" {
		if ready, err = ParseRange(r.ReadyAfter); err != nil {
			return nil, fmt.Errorf("readyAfter: %w", err)
		}
	}
	if r.ExitAfter != "" {
		if exit, err = ParseRange(r.ExitAfter); err != nil {
			return nil, fmt.Errorf("exitAfter: %w", err)
		}
	}
	if r.Never != "" {
		if never, err = ParseNever(r.Never); err != nil {
			return nil, fmt.Errorf("never: %w", err)
		}
	}
	return func(p *kubelet.Profile) {
		if r.ReadyAfter != "" {
			p.ReadyAfter = ready
		}
		if r.ExitAfter != "" {
			p.ExitAfter = exit
		}
		p.Never = never
		p.IgnoresSIGTERM = p.IgnoresSIGTERM || r.IgnoresSIGTERM
		p.ExitsCleanly = p.ExitsCleanly || r.ExitsCleanly
	}, nil
}

// mishaps turns a story's faults into the plugin's rules.
func mishaps(story []v1alpha1.Fault) []faults.Rule {
	rules := make([]faults.Rule, len(story))
	for i, f := range story {
		rules[i] = faults.Rule{
			Verb: f.Verb, Resource: f.Resource, Subresource: f.Subresource, Namespace: f.Namespace, Name: f.Name, Actor: f.Actor,
			From: f.From.Duration, To: f.To.Duration, Skip: f.Skip, Times: f.Times,
			Answer: faults.Answer{Kind: faults.Kind(f.Answer), Message: f.Message, Webhook: f.Webhook},
		}
	}
	return rules
}
