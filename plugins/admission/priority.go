package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// The classes every API server makes when it starts (pkg/apis/scheduling/v1/helpers.go).
var systemClasses = map[string]int32{
	"system-node-critical":    2000001000,
	"system-cluster-critical": 2000000000,
}

// Priority is the Priority admission plugin: it resolves a pod's class to a number.
type Priority struct{ last *class } // what the latest pod got, to be shared by others

// NewPriority makes the plugin.
func NewPriority() *Priority { return &Priority{} }

// Name is the upstream plugin's.
func (p *Priority) Name() string { return "Priority" }

// Start has nothing to begin.
func (p *Priority) Start(*sim.Hands) {}

// Validate refuses nothing.
func (p *Priority) Validate(*sim.Request) error { return nil }

// Mutate sets spec.priority and spec.preemptionPolicy of a new pod and keeps
// them on updates (plugin/pkg/admission/priority/admission.go admitPod).
func (p *Priority) Mutate(req *sim.Request) error {
	pod, ok := req.New.(*corev1.Pod)
	if !ok || req.Resource != sim.Pods || req.Subresource != "" {
		return nil
	}
	if old, ok := req.Old.(*corev1.Pod); ok && req.Verb == "update" {
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	if req.Verb != "create" {
		return nil
	}
	return p.resolve(req, pod)
}

func (p *Priority) resolve(req *sim.Request, pod *corev1.Pod) error {
	found, err := classOf(req.World, pod.Spec.PriorityClassName)
	if err != nil {
		return forbidden(req, pod, err)
	}
	if p.last == nil || *p.last != found {
		mine := found
		p.last = &mine
	}
	class := p.last
	if have := pod.Spec.Priority; have != nil && *have != class.value {
		return forbidden(req, pod, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *have, class.value))
	}
	if have := pod.Spec.PreemptionPolicy; have != nil && *have != class.preemption {
		return forbidden(req, pod, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *have, class.preemption))
	}
	pod.Spec.PriorityClassName, pod.Spec.Priority, pod.Spec.PreemptionPolicy = class.name, &class.value, &class.preemption
	return nil
}

type class struct {
	name       string
	value      int32
	preemption corev1.PreemptionPolicy
}

// classOf finds a pod's class by name; a pod without one gets the default
// class with the lowest value, or priority 0 where there is none.
func classOf(world sim.Reader, name string) (class, error) {
	if value, ok := systemClasses[name]; ok {
		return class{name, value, corev1.PreemptLowerPriority}, nil
	}
	if name != "" {
		if obj, ok := world.Get(sim.PriorityClasses, "", name); ok {
			return read(obj.(*schedulingv1.PriorityClass)), nil
		}
		return class{}, fmt.Errorf("no PriorityClass with name %v was found", name)
	}
	var best *schedulingv1.PriorityClass
	for _, obj := range world.List(sim.PriorityClasses, "") {
		c, ok := obj.(*schedulingv1.PriorityClass)
		if ok && c.GlobalDefault && (best == nil || c.Value < best.Value) {
			best = c
		}
	}
	if best != nil {
		return read(best), nil
	}
	return class{preemption: corev1.PreemptLowerPriority}, nil
}

func read(c *schedulingv1.PriorityClass) class {
	out := class{c.Name, c.Value, corev1.PreemptLowerPriority}
	if c.PreemptionPolicy != nil {
		out.preemption = *c.PreemptionPolicy
	}
	return out
}

// forbidden names a pod that has no name yet by the beginning of the one it will get.
func forbidden(req *sim.Request, pod *corev1.Pod, err error) error {
	name := pod.Name
	if name == "" {
		name = pod.GenerateName
	}
	return apierrors.NewForbidden(corev1.Resource(req.Resource), name, err)
}
