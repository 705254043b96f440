package scenario

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// behaviours turns a story's rules into profiles; a pod that no rule matches,
// and what a rule leaves open, is as otherwise says.
func behaviours(rules []v1alpha1.PodBehaviour, start time.Time, otherwise kubelet.Profiles) (kubelet.Profiles, error) {
	if len(rules) == 0 {
		return otherwise, nil
	}
	type ruled struct {
		match  kubelet.Match
		adjust func(*kubelet.Profile)
	}
	all := make([]ruled, len(rules))
	for i, r := range rules {
		adjust, err := adjustment(r, start)
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

// prompt is how soon pods are ready that are well.
const prompt = 2 * time.Second

// healed are profiles of which some pods are well in spite of all.
func healed(pods kubelet.Profiles, well func(*corev1.Pod) bool) kubelet.Profiles {
	if well == nil {
		return pods
	}
	return func(pod *corev1.Pod) kubelet.Profile {
		p := pods(pod)
		if well(pod) {
			p.Never, p.Trouble = "", nil
			for _, r := range []*kubelet.Range{&p.ReadyAfter, &p.AnswersAfter} {
				r.Low, r.High = min(r.Low, prompt), min(r.High, prompt)
			}
		}
		return p
	}
}

// told are the times of a rule; nil for those it leaves open.
type told struct{ ready, answers, exit, init, pull, hook *kubelet.Range }

// adjustment is what one rule says about a profile.
func adjustment(r v1alpha1.PodBehaviour, start time.Time) (func(*kubelet.Profile), error) {
	t, err := timesOf(r)
	if err != nil {
		return nil, err
	}
	var never kubelet.Never
	if r.Never != "" {
		if never, err = ParseNever(r.Never); err != nil {
			return nil, fmt.Errorf("never: %w", err)
		}
	}
	trouble, err := troubleOf(r, start)
	if err != nil {
		return nil, err
	}
	return func(p *kubelet.Profile) {
		t.adjust(p)
		p.Never = never
		p.IgnoresSIGTERM = p.IgnoresSIGTERM || r.IgnoresSIGTERM
		p.ExitsCleanly = p.ExitsCleanly || r.ExitsCleanly
		p.Trouble = trouble
	}, nil
}

// timesOf reads the times of a rule.
func timesOf(r v1alpha1.PodBehaviour) (t told, err error) {
	for _, f := range []struct {
		name, text string
		to         **kubelet.Range
	}{
		{"readyAfter", r.ReadyAfter, &t.ready}, {"answersAfter", r.AnswersAfter, &t.answers}, {"exitAfter", r.ExitAfter, &t.exit},
		{"initFor", r.InitFor, &t.init}, {"pullFor", r.PullFor, &t.pull}, {"hookFor", r.HookFor, &t.hook},
	} {
		if f.text == "" {
			continue
		}
		read, err := ParseRange(f.text)
		if err != nil {
			return t, fmt.Errorf("%s: %w", f.name, err)
		}
		*f.to = &read
	}
	return t, nil
}

// adjust puts the times into a profile. Who says when the pod is ready says so
// in spite of its probes; who says when it answers them lets them decide.
func (t *told) adjust(p *kubelet.Profile) {
	if t.ready != nil {
		p.ReadyAfter, p.Probed = *t.ready, false
	}
	if t.answers != nil {
		p.AnswersAfter, p.Probed = *t.answers, true
	}
	if t.exit != nil {
		p.ExitAfter, p.HooksIncluded = *t.exit, false
	}
	if t.init != nil {
		p.InitFor = *t.init
	}
	if t.pull != nil {
		p.PullFor = *t.pull
	}
	if t.hook != nil {
		p.HookFor = *t.hook
	}
}

// troubleOf reads what goes wrong; nil for nothing.
func troubleOf(r v1alpha1.PodBehaviour, start time.Time) (*kubelet.Trouble, error) {
	out := &kubelet.Trouble{Container: r.Container}
	for i, w := range r.ImageMissing {
		read, err := windowOf(w, start)
		if err != nil {
			return nil, fmt.Errorf("imageMissing[%d]: %w", i, err)
		}
		out.Missing = append(out.Missing, read)
	}
	for i, f := range r.FailsProbes {
		read, err := windowOf(f.Window, start)
		if err != nil {
			return nil, fmt.Errorf("failsProbes[%d]: %w", i, err)
		}
		kinds, err := probesOf(f.Probes)
		if err != nil {
			return nil, fmt.Errorf("failsProbes[%d].probes: %w", i, err)
		}
		out.Fails = append(out.Fails, kubelet.Outage{Window: read, Kinds: kinds})
	}
	if r.Crash != nil {
		exit, err := exitOf(r.Crash)
		if err != nil {
			return nil, fmt.Errorf("crash.%w", err)
		}
		out.Crash = exit
	}
	if out.Crash == nil && len(out.Missing)+len(out.Fails) == 0 {
		return nil, nil
	}
	return out, nil
}

func windowOf(w v1alpha1.Window, start time.Time) (kubelet.Window, error) {
	switch from, to := w.From.Duration, w.To.Duration; {
	case from < 0 || to < 0:
		return kubelet.Window{}, fmt.Errorf("%s..%s: time does not run backwards", from, to)
	case to == 0:
		return kubelet.Window{From: start.Add(from)}, nil
	case to <= from:
		return kubelet.Window{}, fmt.Errorf("%s..%s: the end is not after the beginning", from, to)
	default:
		return kubelet.Window{From: start.Add(from), To: start.Add(to)}, nil
	}
}

func probesOf(words []string) (out []kubelet.ProbeKind, err error) {
	known := []kubelet.ProbeKind{kubelet.Startup, kubelet.Readiness, kubelet.Liveness}
	for _, word := range words {
		kind := kubelet.ProbeKind(word)
		if !slices.Contains(known, kind) {
			return nil, fmt.Errorf("%q is not a probe: use startup, readiness or liveness", word)
		}
		out = append(out, kind)
	}
	return out, nil
}

func exitOf(c *v1alpha1.PodCrash) (*kubelet.Exit, error) {
	after, err := ParseRange(c.After)
	switch {
	case err != nil:
		return nil, fmt.Errorf("after: %w", err)
	case c.Code < 0 || c.Code > 255:
		return nil, fmt.Errorf("code: %d is not an exit code, from 0 to 255", c.Code)
	case c.Times < 0:
		return nil, fmt.Errorf("times: %d is less than 0", c.Times)
	}
	return &kubelet.Exit{After: after, Code: c.Code, Reason: c.Reason, Times: c.Times}, nil
}
