package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/admission/podsecurity"
)

// PodSecurity is the admission plugin of that name: it refuses new pods that
// violate the policy which their namespace's labels enforce. Warnings and audit
// have no part in a rollout, and there are no exemptions.
type PodSecurity struct{ h *sim.Hands }

// NewPodSecurity makes the plugin.
func NewPodSecurity() *PodSecurity { return &PodSecurity{} }

// Name is the upstream plugin's.
func (p *PodSecurity) Name() string { return "PodSecurity" }

// Start keeps the hands for the trace.
func (p *PodSecurity) Start(h *sim.Hands) { p.h = h }

// Mutate changes nothing.
func (p *PodSecurity) Mutate(*sim.Request) error { return nil }

// Validate refuses a pod with all that is wrong with it (pod-security-admission EvaluatePod).
func (p *PodSecurity) Validate(req *sim.Request) error {
	pod, ok := req.New.(*corev1.Pod)
	if !ok || p.h == nil || req.Verb != "create" || req.Subresource != "" {
		return nil
	}
	obj, _ := req.World.Get(sim.Namespaces, "", pod.Namespace)
	ns, ok := obj.(*corev1.Namespace)
	if !ok {
		return nil
	}
	policy := podsecurity.Enforced(ns.Labels)
	wrong := podsecurity.Violations(policy, int(p.h.Version()), &pod.ObjectMeta, &pod.Spec)
	if wrong == "" {
		return nil
	}
	refused := apierrors.NewForbidden(corev1.Resource(req.Resource), pod.Name, fmt.Errorf("violates PodSecurity %q: %s", policy.String(), wrong))
	p.h.Emit(sim.RefOf(pod), trace.Rejected{By: p.Name(), Message: refused.Error()})
	return refused
}
