package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// PodSecurity is the admission plugin of that name: it refuses pods that
// violate the policy which their namespace's labels enforce. Warnings and audit
// have no part in a rollout, and there are no exemptions.
type PodSecurity struct {
	h          *sim.Hands
	checks     policy.Evaluator
	unlabelled api.Policy
}

// NewPodSecurity makes the plugin.
func NewPodSecurity() *PodSecurity {
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	return &PodSecurity{unlabelled: api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged}}
}

// Name is the upstream plugin's.
func (p *PodSecurity) Name() string { return "PodSecurity" }

// Start keeps the hands for the trace.
func (p *PodSecurity) Start(h *sim.Hands) { p.h = h }

// Mutate changes nothing.
func (p *PodSecurity) Mutate(*sim.Request) error { return nil }

// Validate refuses a pod with all that is wrong with it
// (pod-security-admission/admission ValidatePod, EvaluatePod).
func (p *PodSecurity) Validate(req *sim.Request) error {
	pod, ok := req.New.(*corev1.Pod)
	if !ok || p.h == nil || req.Subresource != "" || !p.looksAt(req, pod) {
		return nil
	}
	obj, _ := req.World.Get(sim.Namespaces, "", pod.Namespace)
	ns, ok := obj.(*corev1.Namespace)
	if !ok {
		return nil
	}
	// Errors are labels that are no level or version: upstream tells the audit log.
	wanted, _ := api.PolicyToEvaluate(ns.Labels, p.unlabelled)
	if wanted.Enforce.Level == api.LevelPrivileged {
		return nil
	}
	found := policy.AggregateCheckResults(p.evaluator().EvaluatePod(wanted.Enforce, &pod.ObjectMeta, &pod.Spec))
	if found.Allowed {
		return nil
	}
	refused := apierrors.NewForbidden(corev1.Resource(req.Resource), pod.Name,
		fmt.Errorf("violates PodSecurity %q: %s", wanted.Enforce.String(), found.ForbiddenDetail()))
	p.h.Emit(sim.RefOf(pod), trace.Rejected{By: p.Name(), Message: refused.Error()})
	return refused
}

// evaluator has the checks as of the world's release. They are put together when
// a namespace first asks for them, since most worlds never do.
func (p *PodSecurity) evaluator() policy.Evaluator {
	if p.checks == nil {
		release := api.MajorMinorVersion(1, int(p.h.Version()))
		checks, err := policy.NewEvaluator(policy.DefaultChecks(), &release)
		if err != nil {
			panic(err) // the library's own checks do not contradict each other
		}
		p.checks = checks
	}
	return p.checks
}

// looksAt says whether a request may bring a violation: a new pod, or other
// images in one that is there (isSignificantPodUpdate).
func (p *PodSecurity) looksAt(req *sim.Request, pod *corev1.Pod) bool {
	if req.Verb == "create" {
		return true
	}
	old, ok := req.Old.(*corev1.Pod)
	if !ok || req.Verb != "update" {
		return false
	}
	return otherImages(old.Spec.InitContainers, pod.Spec.InitContainers) || otherImages(old.Spec.Containers, pod.Spec.Containers)
}

func otherImages(old, containers []corev1.Container) bool {
	for i := range containers {
		if i >= len(old) || containers[i].Image != old[i].Image {
			return true
		}
	}
	return len(old) != len(containers)
}
